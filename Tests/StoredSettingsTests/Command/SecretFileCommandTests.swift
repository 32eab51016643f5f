// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings
@testable import StoredSettingsCommand

@Suite("Commands and secret files")
struct SecretFileCommandTests {
    /// Runs a body with a setting that is not declared as secret, and whose value is in a secret file.
    private func withSecret(_ body: (_ harness: CommandHarness, _ file: String) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let file = "\(directory)/motd"
            try file.overwriteFile(with: "hunter2")
            let sources: [SettingsSource] = [.secrets(directory: directory)]
            try await body(CommandHarness(["motd": "stored"], sources: sources), file)
        }
    }

    @Test("a value from a secret file is printed only with --reveal, whatever the traits of its setting")
    func reading() async throws {
        try await withSecret { harness, _ in
            for arguments in [["get", "motd"], ["get", "motd", "--json"]] {
                let result = await harness.run(arguments)
                #expect(result.code == 64)
                #expect(result.output.isEmpty && result.errors.contains("--reveal"))
            }
            #expect(await harness.run("get", "motd", "--reveal").output == "hunter2\n")
            for arguments in [["list"], ["list", "--json"], ["explain"], ["export", "--all"]] {
                let result = await harness.run(arguments)
                #expect(!(result.output + result.errors).contains("hunter2"), "\(arguments)")
            }
            let list = await harness.run("list", "--json").output
            #expect(list.contains(#""isSecret": true"#) && list.contains(#""value": "••••""#))
        }
    }

    @Test("watch does not print a value while it comes from a secret file", .deadlockLimit)
    func watching() async throws {
        try await withSecret { harness, file in
            let task = Task { await harness.run("watch", "--initial", "motd") }
            await eventually("the secret") { harness.output == "motd=••••\n" }
            try file.replaceFile(with: "hunter3")
            await eventually("the next secret") { harness.output == "motd=••••\nmotd=••••\n" }
            try file.removeFile()
            await eventually("the stored value") { harness.output.hasSuffix("••••\nmotd=stored\n") }
            try file.replaceFile(with: "hunter4")
            await eventually("another secret") { harness.output.hasSuffix("stored\nmotd=••••\n") }
            task.cancel()
            #expect(await task.value.errors.isEmpty)
        }
    }
}

extension String {
    fileprivate func removeFile() throws {
        try FileManager.default.removeItem(atPath: self)
    }
}
