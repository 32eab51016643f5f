// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import TestSupport
import Testing

@Suite("stored-settings doctor and a copy with values of unusable keys")
struct RestoreTests {
    private final class Silent: SettingsReporter {
        func report(_ error: SettingsError) {}
    }

    private static let (good, unusable) = (471_147_114_711_471, "n0number")

    /// Runs a body with a suite whose last good copy has the last good value of `port`, whose stored value is unusable.
    private func withUnusableValue(_ body: (_ home: String, _ file: String) async throws -> Void) async throws {
        try await withTemporaryDirectory { home in
            let file = home + "/acme/settings.json"
            let first = SettingsSuite(fileAt: file, reporter: Silent())
            try await first.setStoredValue(.integer(Int128(Self.good)), forKey: "port")
            try await first.checkpoint()
            await first.finish()
            try file.replaceFile(with: #"{"port": "\#(Self.unusable)"}"#)
            let suite = SettingsSuite(fileAt: file, reporter: Silent())
            #expect(Setting("port", default: 80, suite: suite).value == Self.good)
            try await suite.setStoredValue("x", forKey: "other")
            try await suite.checkpoint()
            await suite.finish()
            #expect(try (file + ".last-good").fileContents.hasPrefix("{\n  \"$lastGood\": "))
            try await body(home, file)
        }
    }

    private func doctor(
        _ options: String...,
        home: String
    ) async throws -> (code: Int32, output: String, errors: String) {
        let program = try ExampleProgram("stored-settings", ["acme", "doctor"] + options, home: home)
        let code = await program.exitCode()
        let result = (code, program.lines.joined(separator: "\n"), program.errors)
        #expect(!(result.1 + result.2).contains(String(Self.good)) && !(result.1 + result.2).contains(Self.unusable))
        return result
    }

    private func port(home: String) async throws -> [String] {
        try await output(of: "stored-settings", ["acme", "get", "port"], home: home)
    }

    @Test("the copy is no problem, and its keys are named")
    func facts() async throws {
        try await withUnusableValue { home, file in
            let result = try await doctor(home: home)
            #expect(result.code == 0, "\(result)")
            #expect(result.output.contains("'port': a program could not use them"))
            #expect(result.output.contains("the same values"))
            try file.replaceFile(with: #"{"port": 5, "other": "x"}"#)
            #expect(try await !doctor(home: home).output.contains("could not use"), "the value was corrected")
        }
    }

    @Test("--restore writes the last good values of unusable keys")
    func restoring() async throws {
        try await withUnusableValue { home, file in
            try file.overwriteFile(with: "{")
            #expect(chmod(file, 0o640) == 0)
            let broken = try await doctor(home: home)
            #expect(broken.code == 78)
            #expect(broken.output.contains("or use --restore"))
            let result = try await doctor("--restore", home: home)
            #expect(result.code == 0, "\(result)")
            #expect(result.output.contains("repaired: wrote the last good values of 'port'"))
            #expect(try file.fileContents == "{\n  \"other\": \"x\",\n  \"port\": \(Self.good)\n}\n")
            #expect(try (file + ".broken-1").fileContents == "{")
            #expect(try file.filePermissions == 0o640)
            #expect(try await port(home: home) == [String(Self.good)])
        }
    }

    @Test("--restore keeps a value that was changed later")
    func laterChange() async throws {
        try await withUnusableValue { home, file in
            try file.overwriteFile(with: "{")
            let suite = SettingsSuite(fileAt: file, reporter: Silent())
            try await suite.setStoredValue(5, forKey: "port")
            await suite.finish()
            let result = try await doctor("--restore", home: home)
            #expect(result.code == 0, "\(result)")
            #expect(!result.output.contains("last good values of"))
            #expect(try await port(home: home) == ["5"])
        }
    }

    @Test("--restore says when it restores nothing, and why")
    func nothing() async throws {
        try await withUnusableValue { home, file in
            let readable = try await doctor("--restore", home: home)
            #expect(readable.code == 0)
            #expect(readable.errors.contains("nothing is restored: the settings file can be read"), "\(readable)")
            try file.overwriteFile(with: "{")
            for isMissing in [false, true] {
                try (file + ".last-good").overwriteFile(with: "{")
                if isMissing { try FileManager.default.removeItem(atPath: file + ".last-good") }
                let result = try await doctor("--restore", home: home)
                #expect(result.code == 78)
                #expect(result.errors.contains("nothing is restored: there is no usable last good copy"), "\(result)")
                #expect(!result.output.contains("repaired: "))
                #expect(try file.fileContents == "{")
            }
        }
    }
}
