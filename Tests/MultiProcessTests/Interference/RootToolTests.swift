// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("A tool that root runs on the settings of a service user")
struct RootToolTests {
    private static let (user, group): (uid_t, gid_t) = (4_321, 4_322)

    @Test(
        "leaves files that the service can read and change, whichever of them is first",
        .enabled(if: geteuid() == 0, "only root can change its user"),
        arguments: [true, false]
    )
    func files(isRootFirst: Bool) async throws {
        try await withTemporaryDirectory { directory in
            // The service's own files have the group of the directory, too.
            #expect(chown(directory, Self.user, Self.group) == 0 && chmod(directory, 0o2700) == 0)
            let path = directory + "/com.acme/settings.json"
            try await withProbes(2, at: .file(path)) { probes in
                let (root, service) = (probes[0], probes[1])
                try await service.expect("become \(Self.user) \(Self.group)")
                let order = isRootFirst ? [root, service] : [service, root]
                for probe in order {
                    try await probe.expect("set n 1")
                    try await probe.expect("checkpoint")
                }
                for number in 2..<6 {
                    try await root.expect("set n \(number)")
                    try await service.expect("get n", prints: "\(number)")
                    try await service.expect("set m \(number)")
                    try await service.expect("checkpoint")
                    try await root.expect("get m", prints: "\(number)")
                    try await root.expect("checkpoint")
                }
                // The service can start over as well.
                try await service.expect("set n 6")
                try FileManager.default.removeItem(atPath: path + ".lock")
                try await service.expect("checkpoint")
            }
            for name in try FileManager.default.subpathsOfDirectory(atPath: directory) {
                var status = stat()
                #expect(lstat("\(directory)/\(name)", &status) == 0)
                #expect(status.st_uid == Self.user && status.st_gid == Self.group, "\(name)")
                #expect(status.st_mode & 0o777 == (status.st_mode & S_IFMT == S_IFDIR ? 0o700 : 0o600), "\(name)")
            }
        }
    }
}
