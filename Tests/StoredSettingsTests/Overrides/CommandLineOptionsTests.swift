// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StoredSettings

@Suite("The flags of a key")
struct CommandLineOptionsTests {
    private func occurrences(_ key: String, _ arguments: String...) -> [CommandLineOptions.Occurrence] {
        CommandLineOptions(arguments: arguments).occurrences(ofKey: key)
    }

    @Test("are its words after two dashes, or the key itself after one")
    func spellings() {
        #expect(occurrences("logLevel", "--log-level", "x") == [.init(flag: "--log-level", text: "x")])
        #expect(
            occurrences("logLevel", "--log-level=x=y") == [.init(flag: "--log-level", text: "x=y", isAttached: true)]
        )
        #expect(occurrences("logLevel", "-logLevel", "x") == [.init(flag: "-logLevel", text: "x", isKey: true)])
        #expect(
            occurrences("logLevel", "-logLevel=x")
                == [.init(flag: "-logLevel", text: "x", isAttached: true, isKey: true)]
        )
        #expect(occurrences("log.level", "-log.level", "x") == [.init(flag: "-log.level", text: "x", isKey: true)])
        #expect(occurrences("🙂", "-🙂", "x") == [.init(flag: "-🙂", text: "x", isKey: true)])
        #expect(occurrences("v", "-v") == [.init(flag: "-v", isKey: true)])
        #expect(occurrences("colour", "--no-colour", "x") == [.init(flag: "--no-colour", isNegated: true)])
        #expect(
            occurrences("colour", "--no-colour=x")
                == [.init(flag: "--no-colour", text: "x", isAttached: true, isNegated: true)]
        )
        #expect(occurrences("colour", "--colour=") == [.init(flag: "--colour", text: "", isAttached: true)])
    }

    @Test(
        "are no other's",
        arguments: ["--log", "--log-levels=1", "--logLevel", "-log-level", "log-level", "-", "--no"]
    )
    func others(argument: String) {
        #expect(occurrences("logLevel", argument, "x") == [])
    }

    @Test(
        "have no value that looks like a flag",
        arguments: ["--other", "-other", "--no-port", "--", "--5", "-é", "-٥"]
    )
    func flagsFollow(next: String) {
        #expect(
            occurrences("port", "--port", next) == [.init(flag: "--port")]
                + (next == "--no-port" ? [.init(flag: next, isNegated: true)] : [])
        )
    }

    @Test(
        "have values that begin with a dash and are none",
        arguments: ["-5", "-.5", "-1.5s", "-1,2", "-", "-inf", ""]
    )
    func negativeNumbers(next: String) {
        #expect(occurrences("port", "--port", next) == [.init(flag: "--port", text: next)])
    }

    @Test("end at two dashes")
    func theEnd() {
        #expect(occurrences("port", "a", "--port", "1", "--", "--port", "2") == [.init(flag: "--port", text: "1")])
        #expect(occurrences("-", "--", "1") == [])
    }

    @Test("are none for an empty key")
    func emptyKey() {
        #expect(occurrences("", "-", "--", "=", "-=1") == [])
    }
}
