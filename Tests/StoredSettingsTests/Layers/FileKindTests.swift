// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Kinds of files in layers", .deadlockLimit)
struct FileKindTests {
    private let reporter = RecordingReporter()

    @Test("a pipe, a FIFO, a device, a socket and a removed file are reported with their paths, and block no read")
    func specialFiles() async throws {
        try await withTemporaryDirectory { directory in
            // Open and without a name, as a shell passes `<(command)`.
            let pipe = Pipe()
            try pipe.fileHandleForWriting.write(contentsOf: Data(#"{ "port": 9 }"#.utf8))
            try pipe.fileHandleForWriting.close()
            #expect(mkfifo("\(directory)/fifo", 0o600) == 0)
            #expect(symlink("/dev/null", "\(directory)/null") == 0)
            let socket = try makeSocket(at: "\(directory)/socket")
            defer { close(socket) }
            try "\(directory)/removed".writeLayer(#"{ "port": 9 }"#)
            let removed = open("\(directory)/removed", O_RDONLY)
            defer { close(removed) }
            try FileManager.default.removeItem(atPath: "\(directory)/removed")
            let paths = [
                "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)", "\(directory)/fifo", "\(directory)/null",
                "\(directory)/socket", "/dev/fd/\(removed)",
            ]
            for path in paths {
                let secret = SettingsSource.environment(["ACME_PORT_FILE": path], prefix: "ACME_", files: true)
                for source in [.file(path), .managed(path), secret] {
                    reporter.removeAll()
                    let suite = SettingsSuite.inMemory(sources: [source], reporter: reporter)
                    #expect(Setting("port", default: 80, suite: suite).value == 80)
                    #expect(reporter.errors.map { $0.location?.file } == [path])
                    let error = try #require(reporter.errors.first)
                    #expect(error.code == .readFailed)
                    #expect(error.fact.hasSuffix("it is a pipe, a socket, a device or a removed file"))
                    #expect(error.remedy.contains("regular file"))
                }
            }
            try pipe.fileHandleForReading.close()
        }
    }

    /// Creates a socket with a name in the file system.
    private func makeSocket(at path: String) throws -> CInt {
        // The path of a socket has about 100 bytes at most, so it begins at the open directory.
        let parent = open(String(path[..<path.lastIndex(of: "/")!]), O_RDONLY | O_DIRECTORY)
        defer { close(parent) }
        let name = "/proc/self/fd/\(parent)\(path[path.lastIndex(of: "/")!...])"
        let descriptor = socket(AF_UNIX, CLibrary.streamSocket, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
        return descriptor
    }

    @Test("a link in a circle, and a file in place of the directory of drop-ins, are reported with a fix that fits")
    func otherPaths() async throws {
        try await withTemporaryDirectory { directory in
            #expect(symlink("circle", "\(directory)/circle") == 0)
            try "\(directory)/file".writeLayer("{}")
            let suite = SettingsSuite.inMemory(
                sources: [.file("\(directory)/circle"), .directory("\(directory)/file")],
                reporter: reporter
            )
            #expect(Setting("port", default: 80, suite: suite).value == 80)
            #expect(
                Set(reporter.errors.map(\.remedy)) == [
                    "correct the symbolic links in its path", "correct its path, a part of which is not a directory",
                ]
            )
        }
    }

    @Test(
        "an empty drop-in, and a link to /dev/null, hide the same name in later directories, and validate",
        arguments: ["", nil]
    )
    func hiding(_ text: String?) async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/vendor/10.json".writeLayer(#"{ "port": 1, "unknown": 1 }"#)
            try "\(directory)/vendor/20.json".writeLayer(#"{ "host": "vendor" }"#)
            try "\(directory)/local/30.json".writeLayer("{}")
            let local = "\(directory)/local/10.json"
            if let text { try local.writeLayer(text) } else { #expect(symlink("/dev/null", local) == 0) }
            let suite = SettingsSuite.inMemory(
                sources: [.directory("\(directory)/local"), .directory("\(directory)/vendor")],
                reporter: reporter
            )
            let port = Setting("port", default: 80, suite: suite)
            let host = Setting("host", default: "none", suite: suite)
            #expect(port.value == 80)
            #expect(host.value == "vendor")
            let problems = SettingsCatalog(port, host).findProblems()
            #expect(problems.errors.isEmpty && problems.warnings.isEmpty)
            try FileManager.default.removeItem(atPath: local)
            await eventually("the file of the vendor counts without it") { port.value == 1 }
            try local.replaceFile(with: #"{ "other": 1 }"#)
            let other = Setting("other", default: 0, suite: suite)
            await eventually("the new file is read") { other.value == 1 }
            #expect(port.value == 1, "a file with values hides no other")
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test("a drop-in that is emptied while the program runs hides others after it has settled, and is not reported")
    func emptied() async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/vendor/10.json".writeLayer(#"{ "port": 1 }"#)
            try "\(directory)/local/10.json".writeLayer(#"{ "port": 2 }"#)
            let suite = SettingsSuite.inMemory(
                sources: [.directory("\(directory)/local"), .directory("\(directory)/vendor")],
                reporter: reporter
            )
            let port = Setting("port", default: 80, suite: suite)
            #expect(port.value == 2)
            try "\(directory)/local/10.json".overwriteFile(with: "")
            await eventually("the empty file is used") { port.value == 80 }
            try "\(directory)/local/10.json".overwriteFile(with: "{")
            await eventually("the broken file is reported") { !reporter.errors.isEmpty }
            #expect(reporter.errors.map(\.consequence) == ["its last good values are used"])
            #expect(port.value == 80, "the file hides the other while it cannot be read")
        }
    }

    @Test("an empty base and an empty managed file are malformed")
    func emptyFiles() async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/empty".writeLayer("")
            let base = SettingsSuite.inMemory(sources: [.file("\(directory)/empty")], reporter: reporter)
            #expect(Setting("port", default: 80, suite: base).value == 80)
            let managed = SettingsSuite.inMemory(sources: [.managed("\(directory)/empty")], reporter: reporter)
            #expect(Setting("port", default: 80, suite: managed).value == 80)
            #expect(reporter.errors.map(\.code) == [.malformedFile, .malformedFile])
        }
    }
}
