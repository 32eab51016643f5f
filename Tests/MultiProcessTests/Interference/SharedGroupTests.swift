// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("A suite that the members of a group share")
struct SharedGroupTests {
    private static let (owner, member, group): (uid_t, uid_t, gid_t) = (4_321, 4_323, 4_330)

    private func status(of path: String) throws -> stat {
        var status = stat()
        try #require(stat(path, &status) == 0, "\(path)")
        return status
    }

    /// Replaces the settings file as an editor of the owner does.
    private func edit(_ path: String, _ text: String, mode: mode_t) throws {
        let draft = path + ".edited"
        try draft.overwriteFile(with: text)
        #expect(chown(draft, Self.owner, Self.group) == 0 && chmod(draft, mode) == 0)
        #expect(rename(draft, path) == 0)
    }

    @Test(
        "a member reports nothing about a last good copy from before the suite was shared",
        .enabled(if: geteuid() == 0, "only root can change its user")
    )
    func copyFromBefore() async throws {
        try await withTemporaryDirectory { directory in
            #expect(chown(directory, Self.owner, Self.group) == 0 && chmod(directory, 0o2770) == 0)
            let path = directory + "/settings.json"
            try await withProbes(2, at: .file(path)) { probes in
                try await probes[0].expect("become \(Self.owner) \(Self.group)")
                try await probes[1].expect("become \(Self.member) \(Self.group)")
                try await probes[0].expect("set n 1")
                try await probes[0].expect("checkpoint")
                #expect(chmod(path, 0o660) == 0)
                try await probes[0].expect("checkpoint")
                #expect(try status(of: path + ".last-good").st_mode & 0o777 == 0o600)
                try await probes[1].expect("set n 2")
                try await probes[1].expect("checkpoint")
                for probe in probes {
                    try await probe.expect("get n", prints: "2")
                    #expect(probe.errors == "")
                }
            }
        }
    }

    @Test(
        "a member that may no longer write to the settings file does not exclude the owner",
        .enabled(if: geteuid() == 0, "only root can change its user"),
        arguments: [false, true]
    )
    func editedByOwner(isRunning: Bool) async throws {
        try await withTemporaryDirectory { directory in
            #expect(chown(directory, Self.owner, Self.group) == 0 && chmod(directory, 0o2770) == 0)
            let path = directory + "/settings.json"
            try await withProbes(3, at: .file(path)) { probes in
                let (owner, member, later) = (probes[0], probes[1], probes[2])
                for probe in [owner, later] { try await probe.expect("become \(Self.owner) \(Self.group)") }
                try await member.expect("become \(Self.member) \(Self.group)")
                try await owner.expect("set n 1")
                try await owner.expect("checkpoint")
                #expect(chmod(path, 0o660) == 0)
                try await owner.expect("set n 2")
                try await owner.expect("checkpoint")
                let shared = try status(of: path + ".journal")
                #expect(shared.st_uid == Self.owner && shared.st_gid == Self.group && shared.st_mode & 0o777 == 0o660)
                if isRunning {
                    try await member.expect("set n 3")
                    try await owner.expect("get n", prints: "3")
                    try await owner.expect("checkpoint")
                }

                try edit(path, #"{"n": 4}"#, mode: 0o644)
                try await member.expectSoon("n", is: 4)
                try await member.expect("set m 1", prints: "error readOnly")
                for (number, probe) in [owner, later].enumerated() {
                    try await probe.expectSoon("n", is: 4)
                    try await probe.expect("set k \(number)")
                    try await member.expect("get k", prints: "\(number)")
                }
                try await owner.expect("checkpoint")
                #expect(try status(of: path + ".journal").st_uid == Self.owner)

                // The owner shares the file again.
                #expect(chmod(path, 0o660) == 0)
                try await owner.expect("set k 5")
                try await owner.expect("checkpoint")
                try await member.expect("set m 2")
                for probe in probes { try await probe.expect("get m", prints: "2") }
            }
        }
    }

    @Test(
        "with the sticky bit, the checkpoint of a member fails with the reason, and no value is lost",
        .enabled(if: geteuid() == 0, "only root can change its user")
    )
    func sticky() async throws {
        try await withTemporaryDirectory { directory in
            #expect(chown(directory, Self.owner, Self.group) == 0 && chmod(directory, 0o3770) == 0)
            let path = directory + "/settings.json"
            try path.overwriteFile(with: #"{"n": 1}"#)
            #expect(chown(path, Self.owner, Self.group) == 0 && chmod(path, 0o660) == 0)
            try await withProbes(2, at: .file(path)) { probes in
                let (owner, member) = (probes[0], probes[1])
                try await owner.expect("become \(Self.owner) \(Self.group)")
                try await member.expect("become \(Self.member) \(Self.group)")
                try await member.expect("set n 2")
                try await member.expect("checkpoint", prints: "error readOnly")
                #expect(member.lastErrorText.contains("sticky bit"), "\(member.lastErrorText)")
                try await owner.expect("get n", prints: "2")
                try await owner.expect("checkpoint")
                #expect(try path.fileContents.contains("2"))
            }
        }
    }

    @Test(
        "a member that has made the first set stores nothing after the owner has taken the file back",
        .enabled(if: geteuid() == 0, "only root can change its user"),
        arguments: [0o600, 0o644]
    )
    func firstSetOfMember(mode: mode_t) async throws {
        try await withTemporaryDirectory { directory in
            #expect(chown(directory, Self.owner, Self.group) == 0 && chmod(directory, 0o2770) == 0)
            let path = directory + "/settings.json"
            try edit(path, #"{"n": 0}"#, mode: 0o660)
            try await withProbes(2, at: .file(path)) { probes in
                try await probes[0].expect("become \(Self.owner) \(Self.group)")
                try await probes[1].expect("become \(Self.member) \(Self.group)")
                try await probes[1].expect("set n 1")
                try await probes[0].expect("set n 2")
                #expect(try status(of: path + ".journal").st_uid == Self.member)
                try await probes[0].expect("checkpoint")
                try edit(path, #"{"n": 4}"#, mode: mode)
                try await probes[1].expect("set n 5", prints: "error readOnly")
                try await probes[0].expectSoon("n", is: 4)
                #expect(
                    try status(of: path + ".journal").st_mode & 0o060 == 0o060,
                    "the owner can use it when it is shared again"
                )
                try await probes[0].expect("set n 6")
                try await probes[0].expect("get n", prints: "6")
                #expect(probes[0].errors.isEmpty)
            }
        }
    }
}
