// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StoredSettings

@Suite("Command-line flags of a key")
struct CommandLineOptionsTests {
    private func occurrences(_ key: String, _ arguments: String...) -> [CommandLineOptions.Occurrence] {
        CommandLineOptions(arguments: arguments).occurrences(ofKey: key)
    }

    @Test("a flag is the words of its key after two dashes, or the key itself after one dash or two")
    func spellings() {
        #expect(occurrences("logLevel", "--log-level", "x") == [.init(flag: "--log-level", text: "x")])
        #expect(
            occurrences("logLevel", "--log-level=x=y") == [.init(flag: "--log-level", text: "x=y", isAttached: true)]
        )
        #expect(occurrences("logLevel", "--logLevel", "x") == [.init(flag: "--logLevel", text: "x")])
        #expect(occurrences("logLevel", "-logLevel", "x") == [.init(flag: "-logLevel", text: "x", isKey: true)])
        #expect(
            occurrences("logLevel", "-logLevel=x")
                == [.init(flag: "-logLevel", text: "x", isAttached: true, isKey: true)]
        )
        #expect(occurrences("log.level", "-log.level", "x") == [.init(flag: "-log.level", text: "x", isKey: true)])
        #expect(occurrences("🙂", "-🙂", "x") == [.init(flag: "-🙂", text: "x", isKey: true)])
        #expect(occurrences("v", "-v") == [.init(flag: "-v", isKey: true)])
        #expect(occurrences("color", "--no-color", "x") == [.init(flag: "--no-color", isNegated: true)])
        #expect(
            occurrences("color", "--no-color=x")
                == [.init(flag: "--no-color", text: "x", isAttached: true, isNegated: true)]
        )
        #expect(
            occurrences("color", "--color=\u{301}x") == [.init(flag: "--color", text: "\u{301}x", isAttached: true)]
        )
        #expect(occurrences("color", "--color=") == [.init(flag: "--color", text: "", isAttached: true)])
    }

    @Test(
        "a flag with another spelling does not belong to the key",
        arguments: ["--log", "--log-levels=1", "--loglevel", "-log-level", "log-level", "-", "--no"]
    )
    func others(argument: String) {
        #expect(occurrences("logLevel", argument, "x") == [])
    }

    @Test(
        "an argument that looks like a flag is not the value of a flag",
        arguments: ["--other", "-other", "--no-port", "--", "--5", "-é", "-٥"]
    )
    func flagsFollow(next: String) {
        #expect(
            occurrences("port", "--port", next) == [.init(flag: "--port")]
                + (next == "--no-port" ? [.init(flag: next, isNegated: true)] : [])
        )
    }

    @Test(
        "an argument that starts with a dash but is no flag is a value",
        arguments: ["-5", "-.5", "-1.5s", "-1,2", "-", "-inf", ""]
    )
    func negativeNumbers(next: String) {
        #expect(occurrences("port", "--port", next) == [.init(flag: "--port", text: next)])
    }

    @Test("flags end at two dashes")
    func doubleDash() {
        #expect(occurrences("port", "a", "--port", "1", "--", "--port", "2") == [.init(flag: "--port", text: "1")])
        #expect(occurrences("-", "--", "1") == [])
    }

    @Test("an empty key has no flags")
    func emptyKey() {
        #expect(occurrences("", "-", "--", "=", "-=1") == [])
    }
}
