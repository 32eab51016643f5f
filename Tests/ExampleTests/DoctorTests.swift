// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import TestSupport
import Testing

@Suite("stored-settings doctor")
struct DoctorTests {
    /// A damage of the files of a suite, and what the doctor says about it.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let topic: String
        let fact: String
        var repair: String?
        var needsRoot = false
        /// Whether the journal has a change that is not in the settings file.
        var isPending = false
        /// Receives the path of the settings file.
        let damage: @Sendable (String) throws -> Void

        init(
            _ name: String,
            _ topic: String,
            _ fact: String,
            repair: String? = nil,
            needsRoot: Bool = false,
            isPending: Bool = false,
            _ damage: @escaping @Sendable (String) throws -> Void
        ) {
            (testDescription, self.topic, self.fact, self.repair) = (name, topic, fact, repair)
            (self.needsRoot, self.isPending, self.damage) = (needsRoot, isPending, damage)
        }
    }

    static let cases: [Case] = [
        Case("a broken file", "settings file", "not a valid settings file", repair: "--restore") {
            try $0.overwriteFile(with: "{\n  \"port\": ,\n}")
        },
        Case("a broken file without a copy", "settings file", "not a valid settings file") {
            try $0.overwriteFile(with: "{")
            try remove($0 + ".last-good")
        },
        Case("a missing file", "settings file", "the file is missing", repair: "--restore") { try remove($0) },
        Case("a directory in its place", "settings file", "not a regular file") {
            try remove($0)
            try FileManager.default.createDirectory(atPath: $0, withIntermediateDirectories: false)
        },
        Case("a hard link", "links", "has 2 names") { try FileManager.default.linkItem(atPath: $0, toPath: $0 + "-2") },
        Case("a link into no directory", "links", "there is no directory") {
            try remove($0)
            try FileManager.default.createSymbolicLink(atPath: $0, withDestinationPath: $0 + "-missing/settings.json")
        },
        Case("a link in a circle", "links", "Too many levels") {
            try remove($0)
            try FileManager.default.createSymbolicLink(atPath: $0, withDestinationPath: $0)
        },
        Case("a symbolic link as the journal", "journal", "it is a symbolic link") {
            try FileManager.default.moveItem(atPath: $0 + ".journal", toPath: $0 + "-journal")
            try FileManager.default.createSymbolicLink(atPath: $0 + ".journal", withDestinationPath: $0 + "-journal")
        },
        Case("a symbolic link as the copy", "links", "it is a symbolic link") {
            try FileManager.default.moveItem(atPath: $0 + ".last-good", toPath: $0 + "-copy")
            try FileManager.default.createSymbolicLink(atPath: $0 + ".last-good", withDestinationPath: $0 + "-copy")
        },
        Case("a secret that all users can read", "permissions", "these are secrets: 'token'") {
            chmod($0, 0o644)
            chmod(directory(of: $0), 0o755)
        },
        Case("a file that all users can change", "permissions", "every user can change the file") { chmod($0, 0o666) },
        Case("a directory that all users can change", "permissions", "write to the directory") {
            chmod(directory(of: $0), 0o777)
        },
        Case("a shared directory with the sticky bit", "permissions", "can create files in the directory") {
            chmod(directory(of: $0), 0o1777)
        },
        Case("a directory of a group with the sticky bit", "permissions", "has the sticky bit (3770)") {
            chmod(directory(of: $0), 0o3770)
        },
        Case("a directory of a group, and a file of one user", "permissions", "group 12345 can write", needsRoot: true)
        {
            chown(directory(of: $0), 0, 12_345)
            chmod(directory(of: $0), 0o2770)
        },
        Case("a directory above that all users can change", "permissions", "write to a directory of the path") {
            chmod(directory(of: directory(of: $0)), 0o777)
        },
        Case("a directory above of a group", "permissions", "group 12345 can write to a dir", needsRoot: true) {
            chown(directory(of: directory(of: $0)), 0, 12_345)
            chmod(directory(of: directory(of: $0)), 0o775)
        },
        Case("a directory above of another user", "permissions", "user 12345 can write to a dir", needsRoot: true) {
            chown(directory(of: directory(of: $0)), 12_345, 0)
            chmod(directory(of: directory(of: $0)), 0o755)
        },
        Case("a link in a directory that all users can change", "permissions", "every user can write to a directory of")
        {
            let target = directory(of: directory(of: $0)) + "/other"
            try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
            chmod(target, 0o700)
            try FileManager.default.moveItem(atPath: $0, toPath: target + "/settings.json")
            try FileManager.default.createSymbolicLink(atPath: $0, withDestinationPath: "../other/settings.json")
            chmod(directory(of: $0), 0o777)
        },
        Case("a link to a device", "settings file", "it leads to /dev/null") {
            try remove($0)
            try FileManager.default.createSymbolicLink(atPath: $0, withDestinationPath: "/dev/null")
        },
        Case("a file that is too long", "settings file", "the file cannot be read: File too large", repair: "--restore")
        {
            guard truncate($0, 70 << 20) == 0 else { throw ChildProcess.Failure("truncate: error \(errno)") }
        },
        Case("a journal that its user cannot write", "permissions", "may not read and write this one (0400") {
            chmod($0 + ".journal", 0o400)
        },
        Case("a journal of one user beside a file of a group", "permissions", "may not read and write this one (0600") {
            chmod($0, 0o660)
        },
        Case("a journal of root beside a user's file", "permissions", "user 12345 can change", needsRoot: true) {
            for name in ["", ".last-good", ".lock"] { chown($0 + name, 12_345, 12_345) }
            chown(directory(of: $0), 12_345, 12_345)
            for name in ["", ".journal"] { chmod($0 + name, 0o644) }
        },
        Case("a user's files in a directory for all", "permissions", "every user can write", needsRoot: true) {
            for name in ["", ".journal", ".last-good", ".lock"] { chown($0 + name, 12_345, 12_345) }
            chmod(directory(of: $0), 0o777)
        },
        Case("a lock that the user of the directory cannot open", "permissions", "belongs to user 0", needsRoot: true) {
            for name in ["", ".journal", ".last-good"] { chown($0 + name, 12_345, 12_345) }
            chown(directory(of: $0), 12_345, 12_345)
        },
        Case("a journal that others can read", "permissions", "that they do not have", repair: "--repair") {
            chmod($0 + ".journal", 0o644)
        },
        Case("a journal of another user", "journal", "belongs to another user (12345)", needsRoot: true) {
            chown($0 + ".journal", 12_345, 12_345)
        },
        Case("a file of another user", "permissions", "it belongs to user 12345", needsRoot: true) {
            chown(directory(of: $0), 12_346, 12_346)
            chown($0, 12_345, 12_345)
        },
        Case("a file that its user cannot read", "permissions", "it belongs to user 0, and", needsRoot: true) {
            for name in [".journal", ".last-good", ".lock"] { chown($0 + name, 12_345, 12_345) }
            chown(directory(of: $0), 12_345, 12_345)
        },
        Case("a link of another user", "links", "belongs to another user (12345)", needsRoot: true) {
            try FileManager.default.moveItem(atPath: $0, toPath: $0 + "-2")
            try FileManager.default.createSymbolicLink(atPath: $0, withDestinationPath: $0 + "-2")
            lchown($0, 12_345, 12_345)
        },
        Case("a journal of a newer format", "journal", "has format 99") {
            try JournalFile(of: $0).overwriteWord(at: JournalFile.versionOffset, with: 99)
        },
        Case("a journal of another program", "journal", "not written by this library", repair: "--repair") {
            try ($0 + ".journal").overwriteFile(with: String(repeating: "text ", count: 2_000))
        },
        Case("a few bytes in the place of the journal", "journal", "not written by this library", repair: "--repair") {
            try ($0 + ".journal").overwriteFile(with: "hello")
        },
        Case("an empty journal", "journal", "empty or unfinished", repair: "--repair") {
            try JournalFile(of: $0).truncate(to: 0)
        },
        Case("a truncated journal", "journal", "has damaged records", isPending: true) {
            try JournalFile(of: $0).truncate(to: JournalFile(of: $0).end - 8)
        },
        Case("a damaged record", "journal", "has damaged records", isPending: true) {
            let journal = JournalFile(of: $0)
            try journal.overwriteWord(at: journal.end - 16, with: 0x1234_5678_9ABC)
        },
        Case("a damaged header", "journal", "has damaged records") {
            for offset in [512, 1_024] { try JournalFile(of: $0).overwriteWord(at: offset + 56, with: 1) }
        },
        Case("a journal of another length", "journal", "no multiple of 8") {
            try JournalFile(of: $0).truncate(to: JournalFile(of: $0).bytes.count + 3)
        },
        Case("a journal without checkpoints", "journal", "it has 9 MiB", repair: "--repair") {
            try JournalFile(of: $0).truncate(to: 9 << 20)
        },
        Case("an unfinished record", "journal", "an unfinished record", repair: "--repair") {
            let journal = JournalFile(of: $0)
            let end = try journal.end
            if try journal.bytes.count < end + 64 { try journal.truncate(to: end + 64) }
            try journal.overwriteWord(at: end, with: 48 | (journal.version >> 32) << 32)
        },
        Case("a journal that was replaced", "journal", "another journal had replaced", repair: "--repair") {
            try JournalFile(of: $0).overwriteWord(at: 72, with: 1)
        },
        Case("a disk that failed", "journal", "the disk failed") {
            try JournalFile(of: $0).overwriteWord(at: 160, with: 1)
        },
        Case("no last good copy", "last good copy", "there is no last good copy") { try remove($0 + ".last-good") },
        Case("a last good copy that is cut off", "last good copy", "no complete settings file") {
            try ($0 + ".last-good").overwriteFile(with: "{\n  \"port\": 8")
        },
        Case("another file as the last good copy", "last good copy", "another program has written or changed it") {
            try ($0 + ".last-good").overwriteFile(with: "{\"mine\": 1}")
        },
        Case("an outdated copy", "last good copy", "replaced or removed since", repair: "--repair") {
            try JournalFile(of: $0).overwriteWord(at: 120, with: 2)
        },
        Case("a left temporary file", "temporary files", "a process that was killed", repair: "--repair") {
            try age(directory(of: $0) + "/.settings.json.0123abcd.new")
        },
        Case("a left temporary journal", "temporary files", "a process that was killed", repair: "--repair") {
            try age(directory(of: $0) + "/.settings.json.journal.0123abcd.new")
        },
    ]

    @Test("it finds each damage, says what to do, and changes nothing", arguments: cases.sampled(6))
    func finding(damage: Case) async throws {
        guard !damage.needsRoot || geteuid() == 0 else { return }
        try await withSuite { home, file in
            if damage.isPending {
                try await withoutCheckpoints(of: file) {
                    try await leaveInJournal("set more \(secretPort)", file, home: home)
                }
            }
            try damage.damage(file)
            let before = try snapshot(of: home + "/acme")
            let result = try await doctor(["acme"], home: home)
            #expect(result.code == 78)
            let found = result.findings.first { $0["fact"]?.contains(damage.fact) == true }
            #expect(found?["topic"] == damage.topic, "\(result.findings)")
            #expect(found?["repair"] == damage.repair)
            for part in ["consequence", "remedy", "place"] { #expect(found?[part]?.isEmpty == false, "\(part)") }
            let text = try ExampleProgram("stored-settings", ["acme", "doctor"], home: home)
            #expect(await text.exitCode() == 78)
            #expect(text.lines.contains { $0.contains(damage.fact) })
            for output in [result.text, text.lines.joined(), text.errors] {
                #expect(!output.contains("s3cret") && !output.contains(secretPort))
            }
            #expect(try snapshot(of: home + "/acme") == before)
        }
    }

    @Test("it finds nothing in a suite that is in order, and in a file that no program has changed yet")
    func order() async throws {
        try await withSuite { home, file in
            let result = try await doctor(["acme"], home: home)
            #expect(result.code == 0)
            #expect(result.findings.isEmpty, "\(result.findings)")
            #expect(result.facts["values"] == "2 keys")
            #expect(result.facts["last good copy"] == "the same values")
            #expect(result.facts["journal"]?.hasSuffix("all changes are in the settings file") == true)
            #expect(result.facts["locks"] == "free")
            #expect(result.facts["watches"]?.contains("inotify instances") == true)
            let new = home + "/new"
            try FileManager.default.createDirectory(atPath: new, withIntermediateDirectories: false)
            try (new + "/settings.json").overwriteFile(with: "{\"port\": 1} // mine")
            let before = try snapshot(of: new)
            let other = try await doctor([new], home: home)
            #expect(other.code == 0)
            #expect(other.findings.isEmpty)
            #expect(try snapshot(of: new) == before)
            try file.overwriteFile(with: "{\"port\": 1}")
            let edited = try await doctor(["acme"], home: home)
            #expect(edited.code == 0)
            #expect(edited.facts["last good copy"] == "usable, older than the settings file")
        }
    }

    @Test(
        "a directory and a file of one group are no problem, and neither is a directory of a user's own group",
        .enabled(if: geteuid() == 0, "only root gives files to a group"),
        arguments: [UInt32(12_345), 0]
    )
    func sharedGroup(group: UInt32) async throws {
        try await withSuite { home, file in
            chown(home + "/acme", 0, group)
            chmod(home + "/acme", 0o2770)
            if group != 0 {
                for name in [file, file + ".journal", file + ".last-good", file + ".lock"] {
                    chown(name, 0, group)
                    chmod(name, 0o660)
                }
            }
            let result = try await doctor(["acme"], home: home)
            #expect(result.findings.isEmpty, "\(result.findings)")
        }
    }

    @Test("a directory that root shares with the group of a service is no problem", .enabled(if: geteuid() == 0))
    func serviceGroup() async throws {
        try await withSuite { home, file in
            chown(home + "/acme", 0, 12_345)
            chmod(home + "/acme", 0o770)
            for name in ["", ".journal", ".last-good", ".lock"] { chown(file + name, 12_345, 12_345) }
            let result = try await doctor(["acme"], home: home)
            #expect(result.findings.isEmpty, "\(result.findings)")
            for fact in ["journal", "locks", "last good copy"] {
                #expect(result.facts[fact]?.hasPrefix("not examined") == true, "\(result.facts)")
            }
        }
    }

    @Test("a link to a settings file is no problem, and its target is examined")
    func link() async throws {
        try await withSuite { home, file in
            let link = home + "/link.json"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
            let result = try await doctor([link], home: home)
            #expect(result.code == 0)
            #expect(result.facts["link"]?.contains(file) == true)
            #expect(result.facts["values"] == "2 keys")
        }
    }

    @Test("it advises no change of the mode of a shared directory, and of the owner of files in a directory of root")
    func soundAdvice() async throws {
        try await withSuite { home, file in
            chmod(home + "/acme", 0o1777)
            let shared = try await doctor(["acme", "--repair"], home: home)
            #expect(shared.code == 78)
            #expect(shared.repairs.isEmpty)
            #expect(!shared.findings.isEmpty)
            #expect(shared.findings.allSatisfy { $0["remedy"]?.contains("chmod") == false }, "\(shared.findings)")
            chmod(home + "/acme", 0o755)
            guard geteuid() == 0 else { return }
            for name in ["", ".journal", ".last-good", ".lock"] { chown(file + name, 12_345, 12_345) }
            let result = try await doctor(["acme"], home: home)
            #expect(result.findings.allSatisfy { $0["remedy"]?.contains("chown 0:") == false }, "\(result.findings)")
        }
    }

    @Test(
        "it names the process that holds the lock of the journal, also a stopped one, and one that was killed",
        .enabled(if: FileManager.default.fileExists(atPath: "/proc/locks"), "the system does not show holders of locks")
    )
    func journalLock() async throws {
        try await withSuite { home, file in
            // A process in a transaction holds the lock.
            let probe = try ExampleProgram("settings-probe", ["--file", file], home: home, input: .pipe)
            defer { probe.end() }
            try probe.write("hold port 1\n")
            await eventually("the lock is held") { probe.lines.contains("holding") }
            let number = probe.processIdentifier
            let held = try await doctor(["acme"], home: home)
            #expect(held.code == 78)
            #expect(held.findings.first?["fact"]?.hasPrefix("process \(number) (settings-probe) has held") == true)
            kill(number, SIGSTOP)
            let stopped = try await doctor(["acme"], home: home)
            #expect(stopped.findings.first?["fact"]?.hasSuffix("and is stopped") == true, "\(stopped.findings)")
            kill(number, SIGKILL)
            probe.end()
            let before = try snapshot(of: home + "/acme")
            let killed = try await doctor(["acme"], home: home)
            #expect(killed.code == 78)
            #expect(
                killed.findings.first?["fact"]?.contains("ended while it held the lock") == true,
                "\(killed.findings)"
            )
            #expect(try snapshot(of: home + "/acme") == before)
            let repaired = try await doctor(["acme", "--repair"], home: home)
            #expect(repaired.code == 0)
            #expect(repaired.repairs.count == 1)
            #expect(try await value(home) == secretPort)
        }
    }

    @Test(
        "it names the process that holds the lock for checkpoints",
        .enabled(if: FileManager.default.fileExists(atPath: "/proc/locks"), "the system does not show holders of locks")
    )
    func checkpointLock() async throws {
        try await withSuite { home, file in
            try await withoutCheckpoints(of: file) {
                let result = try await doctor(["acme"], home: home)
                #expect(result.code == 78)
                #expect(result.findings.first?["fact"]?.hasPrefix("process \(getpid()) ") == true, "\(result.findings)")
                #expect(result.findings.first?["topic"] == "lock")
                try await leaveInJournal("set port 4712", file, home: home)
                let pending = try await doctor(["acme"], home: home)
                #expect(pending.facts["journal"]?.hasSuffix("1 change that is not in the settings file yet") == true)
            }
        }
    }

    @Test(
        "a settings file that is mounted alone, for reading only, is a finding",
        .enabled(if: geteuid() == 0, "only root mounts files")
    )
    func mountedFile() async throws {
        try await withSuite { home, file in
            let tool = try Surroundings.program("stored-settings")
            let mounting = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && exec \"$2\" acme doctor"
            let arguments = ["--mount", "/bin/sh", "-c", mounting, "sh", file, tool]
            let program = try ExampleProgram("/usr/bin/unshare", arguments, home: home)
            let code = await program.exitCode()
            // A container may forbid mounts.
            guard !program.errors.contains("mount: ") && !program.errors.contains("unshare: ") else { return }
            #expect(code == 78)
            #expect(program.lines.joined().contains("the file itself is mounted for reading only"), "\(program.lines)")
        }
    }

    @Test("a user without permissions receives a finding", .enabled(if: geteuid() == 0, "another user is needed"))
    func noPermission() async throws {
        try await withSuite { home, file in
            let tool = try Surroundings.program("stored-settings")
            for (mode, fact) in [(0o700, "may not read it"), (0o755, "may not read it"), (0o711, "may not read it")] {
                chmod(home, 0o755)
                chmod(home + "/acme", mode_t(mode))
                let before = try snapshot(of: home + "/acme")
                let arguments = ["--reuid=65534", "--regid=65534", "--clear-groups", tool, file, "doctor", "--json"]
                let program = try ExampleProgram("/usr/bin/setpriv", arguments, home: home)
                let code = await program.exitCode()
                // The tool itself may be in a directory that the other user cannot enter.
                guard code != 127, !program.errors.contains("failed to execute") else { return }
                #expect(code == 78)
                let text = program.lines.joined()
                #expect(text.contains(fact), "\(text)")
                #expect(try snapshot(of: home + "/acme") == before)
            }
        }
    }

    @Test(
        "it names an attribute with which the system refuses changes, also by root, and how to remove it",
        .enabled(if: geteuid() == 0, "only root changes attributes"),
        arguments: ["settings.json", "settings.json.journal", "settings.json.last-good", "acme"],
        ["i", "a"]
    )
    func attributes(name: String, letter: String) async throws {
        try await withSuite { home, _ in
            let path = name == "acme" ? "\(home)/acme" : "\(home)/acme/\(name)"
            // Not every file system has attributes.
            guard changeAttribute("+" + letter, of: path) else { return }
            defer { _ = changeAttribute("-" + letter, of: path) }
            let result = try await doctor(["acme"], home: home)
            #expect(result.code == 78)
            let found = result.findings.filter { $0["topic"] == "attributes" }
            #expect(found.map { $0["place"] } == [path], "\(result.findings)")
            #expect(found.first?["fact"]?.contains(letter == "i" ? "immutable" : "append-only") == true)
            #expect(found.first?["remedy"]?.contains("chattr -\(letter) \(path)") == true)
            #expect(!result.findings.contains { $0["fact"]?.contains("may not write") == true }, "\(result.findings)")
        }
    }

    @Test(
        "the advice for a directory, for a file that is read-only and for a newer journal loses no value and no access"
    )
    func advice() async throws {
        try await withSuite { home, file in
            #expect(chmod(file, 0o400) == 0 && chmod(file + ".journal", 0o644) == 0)
            let readOnly = try await doctor(["acme"], home: home).findings
            let remedies = readOnly.filter { $0["place"] == file + ".journal" }.compactMap { $0["remedy"] }
            #expect(!remedies.isEmpty && !remedies.contains { $0.contains("chmod") }, "\(readOnly)")
            #expect(chmod(file, 0o600) == 0 && chmod(file + ".journal", 0o600) == 0)

            try remove(file)
            try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
            let replaced = try await doctor(["acme"], home: home).findings
            let advice = "move it away; then the values of the last good copy are used, if there is one"
            #expect(replaced.contains { $0["remedy"] == advice }, "\(replaced)")
            try FileManager.default.moveItem(atPath: file, toPath: home + "/moved")
            #expect(try await run(["acme", "get", "port"], home: home) == ["\(secretPort)"])
        }
        try await withSuite { home, file in
            let handle = try #require(FileHandle(forUpdatingAtPath: file + ".journal"))
            try handle.seek(toOffset: 8)
            try handle.write(contentsOf: [99])
            try handle.close()
            let findings = try await doctor(["acme"], home: home).findings
            #expect(
                findings.contains { $0["remedy"]?.contains("move the journal away; it may hold") == true },
                "\(findings)"
            )
        }
    }

    @Test(
        "a copy that a person has formatted is used by --restore, whose file is readable for no more users than the copy"
    )
    func formattedCopy() async throws {
        try await withSuite { home, file in
            try (file + ".last-good").overwriteFile(with: #"{ "port": 7, "token": "s3cret" }"#)
            try file.overwriteFile(with: "{")
            #expect(chmod(file + ".last-good", 0o600) == 0 && chmod(file, 0o644) == 0)
            let findings = try await doctor(["acme"], home: home).findings
            #expect(findings.contains { $0["fact"] == "another program has written or changed it" }, "\(findings)")
            #expect(!findings.contains { $0["fact"]?.contains("unknown") == true }, "\(findings)")
            _ = try await doctor(["acme", "--restore"], home: home)
            #expect(try await value(home) == "7")
            #expect(try file.filePermissions == 0o600)
        }
    }

    @Test(
        "a restore gives the values to the owner of the copy, not to the user that owns the broken file",
        .enabled(if: geteuid() == 0, "only root can do either"),
        arguments: [0, 12_345] as [uid_t]
    )
    func foreignBrokenFile(owner: uid_t) async throws {
        try await withSuite { home, file in
            for suffix in ["", ".journal", ".last-good", ".lock"] { chown(file + suffix, 12_344, 12_344) }
            chown(home + "/acme", 12_344, 12_344)
            try file.overwriteFile(with: "{")
            #expect(chown(file, owner, gid_t(owner)) == 0 && chmod(file, 0o644) == 0)
            _ = try await doctor(["acme", "--restore"], home: home)
            #expect(try await value(home) == "\(secretPort)")
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect(attributes[.ownerAccountID] as? Int == 12_344)
            #expect(try file.filePermissions == 0o600)
        }
    }

    @Test("a name that is not UTF-8 is refused, because it would be that of another suite")
    func foreignName() async throws {
        try await withSuite { home, _ in
            let tool = try Surroundings.program("stored-settings")
            for name in [#"s\377"#, #"/tmp/s\377/"#] {
                let script = "'\(tool)' \"$(printf '\(name)')\" set k=1"
                let program = try ExampleProgram("/bin/sh", ["-c", script], home: home)
                #expect(await program.exitCode() == 64)
                #expect(program.errors.contains("not text in UTF-8"), "\(program.errors)")
            }
        }
    }

    @Test("a copy that another group than the settings file's can read is a finding", .enabled(if: geteuid() == 0))
    func groupOfCopy() async throws {
        try await withSuite { home, file in
            for (suffix, group) in [("", gid_t(12_344)), (".last-good", 12_345)] {
                #expect(chown(file + suffix, 0, group) == 0 && chmod(file + suffix, 0o640) == 0)
            }
            let findings = try await doctor(["acme"], home: home).findings.filter { $0["topic"] == "permissions" }
            let fact = "its group (12345) is another one than that of the settings file (12344)"
            #expect(findings.contains { $0["fact"] == fact && $0["place"] == file + ".last-good" }, "\(findings)")
            _ = try await run(["acme", "set", "later=1"], home: home)
            #expect(try await doctor(["acme"], home: home).code == 0)
        }
    }

    #if os(Linux)
    @Test(
        "an access control list that denies access is found, and the advice takes no denial away",
        arguments: [false, true]
    )
    func denyingList(isGroup: Bool) async throws {
        try await withSuite { home, file in
            guard try CLibrary.deny(5_555, isGroup: isGroup, at: file) else { return }
            let findings = try await doctor(["acme"], home: home).findings.filter { $0["topic"] == "permissions" }
            #expect(findings.contains { $0["fact"] == "the file has an access control list" }, "\(findings)")
            #expect(!findings.contains { $0["remedy"]?.contains("setfacl") == true }, "\(findings)")
        }
    }

    @Test(
        "an access control list is found: a checkpoint does not keep the file's, and the directory's lets others write",
        arguments: [
            ("acme/settings.json", "the file has an access control list"),
            ("acme/settings.json.journal", "it has an access control list"),
            ("acme/settings.json.last-good", "it has an access control list"),
            (
                "acme",
                "a user or group of its access control list can write to the directory (0660), but not to the settings file"
            ),
            ("", "a user or group of its access control list can write to a directory of the path (0660)"),
        ]
    )
    func accessList(name: String, fact: String) async throws {
        try await withSuite { home, _ in
            // With this list, only root may enter a directory, and not every file system has lists.
            guard geteuid() == 0 || name.hasPrefix("acme/"),
                try CLibrary.allow(user: 5_555, at: "\(home)/\(name)")
            else { return }
            let result = try await doctor(["acme"], home: home)
            let found = result.findings.filter { $0["topic"] == "permissions" }
            #expect(found.map { $0["fact"] } == [fact], "\(result.findings)")
        }
    }
    #endif

    @Test("a file in the place of the journal is renamed on request, and the next change is stored")
    func foreignJournal() async throws {
        try await withSuite { home, _ in
            let path = "\(home)/acme/settings.json.journal"
            let text = String(repeating: "text of another program\n", count: 1_000)
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            let result = try await doctor(["acme"], home: home)
            #expect(result.findings.contains { $0["topic"] == "journal" && $0["repair"] == "--repair" })
            let repaired = try await doctor(["acme", "--repair"], home: home)
            #expect(repaired.code == 0, "\(repaired.findings)")
            #expect(try String(contentsOfFile: path + ".broken-1", encoding: .utf8) == text)
            _ = try await run(["acme", "set", "later=1"], home: home)
            #expect(try await doctor(["acme"], home: home).code == 0)
        }
    }

    @Test(
        "a full disk and few watches are found",
        .enabled(
            if: geteuid() == 0 && FileManager.default.fileExists(atPath: "/usr/bin/unshare"),
            "namespaces are needed"
        )
    )
    func shortage() async throws {
        try await withSuite { home, _ in
            let tool = try Surroundings.program("stored-settings")
            for (arguments, command, fact) in [
                (
                    ["--mount"],
                    "mount -t tmpfs -o size=64k tmpfs '\(home)/acme' && echo '{}' > '\(home)/acme/settings.json'",
                    "the disk is full"
                ),
                (["--user", "--map-root-user"], "echo 1 > /proc/sys/user/max_inotify_instances", "almost all inotify"),
            ] {
                let script = "{ \(command); } || exit 99; '\(tool)' acme doctor --json"
                let program = try ExampleProgram(
                    "/usr/bin/unshare",
                    arguments + ["/bin/sh", "-c", script],
                    home: home,
                    variables: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
                )
                let code = await program.exitCode()
                // The system may not let this process create namespaces.
                guard code == 78 || code == 0 else { continue }
                #expect(code == 78)
                let text = program.lines.joined()
                #expect(text.contains(fact), "\(text)")
            }
        }
    }

    // MARK: - Repairs

    @Test(
        "--repair removes what is safe to remove, and prints it",
        arguments: cases.filter { $0.repair == "--repair" }.sampled(4)
    )
    func repairing(damage: Case) async throws {
        try await withSuite { home, file in
            try damage.damage(file)
            let result = try await doctor(["acme", "--repair"], home: home)
            #expect(!result.repairs.isEmpty)
            #expect(!result.findings.contains { $0["fact"]?.contains(damage.fact) == true }, "\(result.findings)")
            #expect(try await value(home) == secretPort)
            #expect(try await doctor(["acme"], home: home).code == 0)
        }
    }

    @Test("--repair alone replaces no settings file", arguments: cases.filter { $0.topic == "settings file" })
    func keeping(damage: Case) async throws {
        try await withSuite { home, file in
            try damage.damage(file)
            let before = try snapshot(of: home + "/acme")
            let result = try await doctor(["acme", "--repair"], home: home)
            #expect(result.code == 78)
            #expect(result.repairs.isEmpty)
            #expect(try snapshot(of: home + "/acme") == before)
        }
    }

    @Test("--restore keeps the broken file, and writes the last good values with all later changes")
    func restoring() async throws {
        try await withSuite { home, file in
            let broken = "{\n  \"port\": ,\n}"
            for number in 1...2 {
                try file.overwriteFile(with: broken)
                try await run(["acme", "set", "later", "x\(number)"], home: home)
                let result = try await doctor(["acme", "--restore"], home: home)
                #expect(result.code == 0, "\(result.findings)")
                #expect(result.repairs.count == 2)
                #expect(try (file + ".broken-\(number)").fileContents == broken)
                #expect(result.facts["kept broken files"]?.contains("settings.json.broken-\(number)") == true)
                #expect(try file.fileContents.contains("\"later\": \"x\(number)\""))
                #expect(try await value(home) == secretPort)
            }
            try remove(file)
            #expect(try await doctor(["acme", "--restore"], home: home).repairs.count == 1)
            #expect(try file.fileContents.contains(secretPort))
        }
    }
}

// MARK: - Support

/// Makes a change that is only in the journal, by a process that is killed before it can make a checkpoint.
private func leaveInJournal(_ change: String, _ file: String, home: String) async throws {
    let probe = try ExampleProgram("settings-probe", ["--file", file], home: home, input: .pipe)
    defer { probe.end() }
    try probe.write("\(change)\n")
    await eventually("the change is stored") { probe.lines.contains("done") }
}

/// Changes an attribute, such as `+i`; returns whether the file system and the rights of this process permit that.
private func changeAttribute(_ change: String, of path: String) -> Bool {
    do {
        let words = ["/bin/sh", "-c", "chattr \"$1\" \"$2\"", "sh", change, path]
        return try ChildProcess(words).waitUntilEnd() == .exit(0)
    } catch {
        return false
    }
}

/// The output of the doctor.
private struct Diagnosis {
    var code: Int32
    var text: String
    var findings: [[String: String]]
    var facts: [String: String]
    var repairs: [String]
}

private func doctor(_ arguments: [String], home: String) async throws -> Diagnosis {
    let all = [arguments[0], "doctor", "--json"] + arguments.dropFirst()
    let program = try ExampleProgram("stored-settings", all, home: home)
    let code = await program.exitCode()
    let text = program.lines.joined(separator: "\n")
    let errors = program.errors
    let object = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(errors)")
    let findings = try #require(object["findings"] as? [[String: Any]])
    return Diagnosis(
        code: code,
        text: text + errors,
        findings: findings.map { $0.compactMapValues { $0 as? String } },
        facts: try #require(object["facts"] as? [String: String]),
        repairs: try #require(object["repairs"] as? [String])
    )
}

/// A value that no other number in the output can contain, such as the free bytes of the disk.
private let secretPort = "471147114711471"

@discardableResult
private func run(_ arguments: [String], home: String) async throws -> [String] {
    try await output(of: "stored-settings", arguments, home: home, mayReport: true)
}

private func value(_ home: String) async throws -> String {
    try await run(["acme", "get", "port"], home: home).joined()
}

/// Runs a body with a suite that was written, and the path of its file.
private func withSuite(_ body: (_ home: String, _ file: String) async throws -> Void) async throws {
    try await withTemporaryDirectory { home in
        try await run(["acme", "set", "port=\(secretPort)", "token=s3cret"], home: home)
        try await body(home, home + "/acme/settings.json")
    }
}

private func directory(of file: String) -> String {
    URL(fileURLWithPath: file).deletingLastPathComponent().path
}

private func remove(_ path: String) throws {
    try FileManager.default.removeItem(atPath: path)
}

/// Creates a file that was written an hour ago.
private func age(_ path: String) throws {
    try path.overwriteFile(with: "{\"token\": \"s3cret\"}")
    try path.backdateFile(by: 3_600)
}

/// The names, contents, modes, owners and times of everything in a directory, and of the directory.
private func snapshot(of directory: String) throws -> [String] {
    let names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    return try (["."] + names)
        .map { name in
            var status = stat()
            try #require(lstat(directory + "/" + name, &status) == 0)
            let isFile = status.st_mode & S_IFMT == S_IFREG
            let bytes =
                isFile ? try Data(contentsOf: URL(fileURLWithPath: directory + "/" + name)).base64EncodedString() : ""
            let times = "\(status.times.modification) \(status.times.change)"
            return "\(name) \(status.st_ino) \(status.st_mode) \(status.st_uid) \(times) \(bytes)"
        }
}
