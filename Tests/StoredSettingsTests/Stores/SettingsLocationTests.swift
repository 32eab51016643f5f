// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Testing

@testable import StoredSettings

@Suite("SettingsLocation")
struct SettingsLocationTests {
    private func environment(_ variables: [String: String], user: String? = "/home/user") -> SettingsEnvironment {
        SettingsEnvironment(
            variable: { variables[$0].map { FilePath($0) } },
            homeDirectoryOfUser: { user.map { FilePath($0) } },
            executableName: "tool"
        )
    }

    private func directory(_ variables: [String: String], user: String? = "/home/user", name: String = "s") -> String? {
        switch SettingsLocation.directory(forSuite: name, in: environment(variables, user: user)) {
        case .success(let directory): directory.description
        case .failure: nil
        }
    }

    @Test("the first place that is set is taken")
    func order() {
        var variables = [
            "STORED_SETTINGS_HOME": "/one", "STATE_DIRECTORY": "/two:/other", "XDG_CONFIG_HOME": "/three",
            "HOME": "/four",
        ]
        #expect(directory(variables) == "/one/s")
        variables["STORED_SETTINGS_HOME"] = ""
        #expect(directory(variables) == "/two/s")
        variables["STATE_DIRECTORY"] = nil
        #expect(directory(variables) == "/three/s")
        variables["XDG_CONFIG_HOME"] = "not/absolute"
        #expect(directory(variables) == "/four/.config/s")
        variables["HOME"] = ""
        #expect(directory(variables) == "/home/user/.config/s")
        #expect(directory(variables, user: nil) == nil)
        #expect(directory(["STORED_SETTINGS_HOME": "/one/"]) == "/one/s")
        #expect(directory(["STORED_SETTINGS_HOME": "/"]) == "/s")
    }

    @Test(
        "no name of a suite leaves its directory",
        arguments: [
            ("com.acme.server", "com.acme.server"), ("../x", "%2E.%2Fx"), ("..", "%2E."), (".", "%2E"),
            ("/etc/passwd", "%2Fetc%2Fpasswd"), ("a/../../b", "a%2F..%2F..%2Fb"), ("a\0b", "a%00b"), ("a\nb", "a%0Ab"),
            ("100%", "100%25"), ("a\\b", "a%5Cb"), ("naïve 🎛️", "naïve 🎛️"),
        ]
    )
    func names(name: String, expected: String) {
        #expect(directory(["STORED_SETTINGS_HOME": "/home"], name: name) == "/home/" + expected)
    }

    @Test("suites of one name share their memory where there is no place for them, for as long as the process")
    func sharedMemory() {
        func setting() -> Setting<Int> {
            let suite = SettingsSuite(
                "shared memory",
                environment: environment([:], user: nil),
                reporter: RecordingReporter()
            )
            return Setting("a", default: 1, suite: suite)
        }
        setting().value = 2
        #expect(setting().value == 2)
    }

    @Test("where there is no place the suite works in memory and says so")
    func ephemeral() {
        for (name, variables) in [
            ("s", [:]), ("", ["HOME": "/h"]), (String(repeating: "x", count: 300), ["HOME": "/h"]),
        ] {
            let reporter = RecordingReporter()
            let suite = SettingsSuite(name, environment: environment(variables, user: nil), reporter: reporter)
            let setting = Setting("a", default: 1, suite: suite)
            setting.value += 1
            #expect(setting.value == 2)
            suite.finish()
            guard case .ephemeral = suite.persistence else {
                Issue.record("\(suite.persistence)")
                continue
            }
            #expect(reporter.errors.map(\.code) == [.locationUnavailable])
        }
    }
}
