// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("The files with the user and the password", .deadlockLimit)
struct EtcdCredentialsTests {
    private static func error(
        user: String,
        password: String
    ) async throws -> EtcdError {
        let credentials = EtcdStore.Credentials(userFile: user, passwordFile: password)
        return try #require(await #expect(throws: EtcdError.self) { _ = try await credentials.read() })
    }

    @Test(
        "A byte order mark and one line break at the end of a file are ignored",
        arguments: [("me\n", "me"), (" s \n\n", " s \n"), ("\u{FEFF}me\r\n", "me")]
    )
    func text(_ contents: String, _ text: String) async throws {
        try await withTemporaryDirectory { directory in
            let (user, password) = ("\(directory)/user", "\(directory)/password")
            for file in [user, password] { try file.overwriteFile(with: contents) }
            let credentials = try await EtcdStore.Credentials(userFile: user, passwordFile: password).read()
            #expect(credentials.user == text && credentials.password == text)
        }
    }

    @Test("Text in UTF-16 is refused")
    func encoding() async throws {
        try await withTemporaryDirectory { directory in
            let file = "\(directory)/user"
            try Data([0x73, 0, 0x0A, 0]).write(to: URL(fileURLWithPath: file))
            let error = try await Self.error(user: file, password: file)
            #expect(error.reason.contains("\(file) is not text in UTF-8"))
        }
    }

    @Test("A named pipe is refused at once, with an error that says so")
    func namedPipe() async throws {
        try await withTemporaryDirectory { directory in
            try "me".write(toFile: "\(directory)/user", atomically: false, encoding: .utf8)
            #expect(mkfifo("\(directory)/password", 0o600) == 0)
            let error = try await Self.error(user: "\(directory)/user", password: "\(directory)/password")
            #expect(error.code == .authenticationFailed)
            #expect(error.reason.contains("\(directory)/password is not a regular file"))
        }
    }

    @Test("The error of a file that cannot be read has its path and the cause, but not its contents")
    func unreadable() async throws {
        try await withTemporaryDirectory { directory in
            let missing = try await Self.error(user: "\(directory)/user", password: "\(directory)/user")
            #expect(missing.code == .authenticationFailed)
            #expect(missing.reason.contains("\(directory)/user"))
            #expect(missing.reason.contains("No such file"))
            let secret = String(repeating: "secret", count: 1_000)
            try secret.write(toFile: "\(directory)/user", atomically: false, encoding: .utf8)
            let large = try await Self.error(user: "\(directory)/user", password: "\(directory)/user")
            #expect(large.code == .authenticationFailed)
            #expect(!large.reason.contains("secret"))
        }
    }

    @Test("A request for a token that does not end fails after its limit, and its token is used later")
    func hangingRequest() async throws {
        let gate = Gate()
        let authenticator = EtcdAuthenticator(limit: .zero) {
            await gate.wait()
            return "token"
        }
        for _ in 1...2 {
            let error = await #expect(throws: EtcdError.self) { _ = try await authenticator.token() }
            #expect(error?.code == .timedOut)
            #expect(error?.mayHaveHappened == false)
        }
        gate.open()
        await eventually("the token has arrived") { (try? await authenticator.token()) == "token" }
    }
}
