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

    @Test("the first variable with an absolute path determines the directory")
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
        #expect(directory(["STATE_DIRECTORY": "two::/three:/four", "HOME": "/five"]) == "/three/s")
        #expect(directory(["STATE_DIRECTORY": "two", "HOME": "/five"]) == "/five/.config/s")
    }

    @Test(
        "the directory of a suite stays within the parent directory, whatever the suite's name",
        arguments: [
            ("com.acme.server", "com.acme.server"), ("../x", "%2E.%2Fx"), ("..", "%2E."), (".", "%2E"),
            ("/etc/passwd", "%2Fetc%2Fpasswd"), ("a/../../b", "a%2F..%2F..%2Fb"), ("a\0b", "a%00b"), ("a\nb", "a%0Ab"),
            ("100%", "100%25"), ("a\\b", "a%5Cb"), ("naïve 🎛️", "naïve 🎛️"),
            ("a\u{1F}b", "a%1Fb"), ("a\u{7F}b", "a%7Fb"), ("\u{7F}", "%7F"), (" ~\u{80}", " ~\u{80}"),
        ]
    )
    func names(name: String, expected: String) {
        #expect(directory(["STORED_SETTINGS_HOME": "/home"], name: name) == "/home/" + expected)
    }

    @Test(
        "the error of a missing location says whether HOME is unset",
        arguments: [
            ([:], "HOME is not set"), (["HOME": "home"], "HOME is not an absolute path"),
        ] as [([String: String], String)]
    )
    func missingHome(variables: [String: String], fact: String) {
        let error = #expect(throws: SettingsError.self) {
            try SettingsLocation.directory(forSuite: "s", in: environment(variables, user: nil)).get()
        }
        #expect(error?.fact.contains(fact) == true)
    }

    @Test("a suite without a location stores values in memory and reports it")
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

    @Test(
        "the standard suite has the name of the executable without a version",
        arguments: [
            ("tool", "tool"), ("tool-1.2.4", "tool"), ("tool-v1.2", "tool"), ("tool_10.0.1", "tool"),
            ("tool@2.0", "tool"),
            ("my-tool-1.2", "my-tool"), ("tool-2", "tool-2"), ("python3.12", "python3.12"),
            ("tool-1.2-beta", "tool-1.2-beta"),
            ("tool-1..2", "tool-1..2"), ("tool-.5", "tool-.5"), ("-1.2", "-1.2"), ("1.2", "1.2"), ("v1.2", "v1.2"),
            ("", ""),
            ("tool.", "tool."),
        ]
    )
    func standardSuite(executable: String, name: String) {
        let environment = SettingsEnvironment(
            variable: { _ in nil },
            homeDirectoryOfUser: { nil },
            executableName: executable
        )
        #expect(environment.standardSuiteName == name)
    }

    @Test("the name of the executable is known without /proc")
    func executable() {
        #expect(SystemCalls.executablePath("/nonexistent/exe")?.name == SystemCalls.executablePath()?.name)
    }
}
