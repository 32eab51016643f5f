// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Programs that are started in mounts of their own, where this user may make some.
enum Mounts {
    /// Whether this user may mount, which root may outside of most containers.
    static let areAllowed: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        process.arguments = ["-m", "/bin/sh", "-c", "mount -t tmpfs -o size=64k none /mnt"]
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        do {
            try process.run()
        } catch {
            return false
        }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// What starts a helper after some commands of the shell, whose mounts only it sees.
    static func launch(after commands: String) -> Probe.Launch {
        Probe.Launch(wrapper: ["/usr/bin/unshare", "-m", "/bin/sh", "-c", commands + #" && exec "$0" "$@""#])
    }
}
