// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Override strings")
struct OverrideTextTests {
    private enum Level: String, CaseIterable, StoredValueConvertible {
        case info = "1"
        case debug = "true"
    }
    private struct Rule: Codable, Equatable, StoredValueConvertible {
        var name: String
        var limit: Int
    }

    private let reporter = RecordingReporter()

    /// Returns the value of a setting whose flag is given once for each string.
    private func read<Value: StoredValueConvertible>(_ texts: String..., default value: Value) -> Value {
        let arguments = texts.map { "--key=\($0)" }
        let suite = SettingsSuite.inMemory(sources: [.commandLine(arguments)], reporter: reporter)
        return Setting("key", default: value, suite: suite).value
    }

    private var nothingReported: Bool { reporter.errors.isEmpty }

    @Test(
        "an override is a string for a type that is decoded from strings",
        arguments: ["", "5", "true", "null", "[1]", #""x""#, "a,b", " ", "-", "é\n"]
    )
    func strings(text: String) {
        #expect(read(text, default: "default") == text)
        #expect(read(text, default: String?.none) == text)
        #expect(nothingReported)
    }

    @Test("an override is a string for an enumeration, even if its raw values look like other types")
    func rawValues() {
        #expect(read("1", default: Level.debug) == .info)
        #expect(read("true", default: Level.info) == .debug)
        #expect(nothingReported)
    }

    @Test(
        "a decimal number is exact, and one that cannot be is refused, not rounded",
        arguments: ["340282366920938463463374607431768211456", "0.12345678901234567890123456789012345678901234567"]
    )
    func decimals(text: String) {
        #expect(read("0.1234567890123456789", default: Decimal(1)) == Decimal(string: "0.1234567890123456789"))
        #expect(nothingReported)
        #expect(read(text, default: Decimal(1)) == 1)
        #expect(read("1,\(text)", default: [Decimal]()) == [])
        #expect(read("a=\(text)", default: [String: Decimal]()) == [:])
        #expect(reporter.errors.count == 3)
        #expect(read(text, default: 1.5) == Double(text))
    }

    @Test(
        "a number in another form than the stored one is a string for a setting of any value",
        arguments: [
            "1.10", "1.", "007", "+5", "1e3", "1E3", "123e45", "0x10", "1_000", "NaN", "inf", "-0", "-0.00", " 5",
            "5\n", "9007199254740993.0", "\u{FEFF}5",
        ]
    )
    func otherForms(text: String) {
        #expect(read(text, default: StoredValue.null) == .string(text))
        #expect(nothingReported)
    }

    @Test(
        "a number that may be a rounded integer is refused for an integer",
        arguments: ["9007199254740993.0", "9007199254740993e0", "90071992547409930e-1", "1e18"]
    )
    func roundedIntegers(text: String) {
        #expect(read(text, default: 1) == 1)
        let variables = SettingsSuite.inMemory(sources: [.environment(["KEY": text], prefix: "")], reporter: reporter)
        #expect(Setting("key", default: Int128(1), suite: variables).value == 1)
        #expect(reporter.errors.map(\.code) == [.invalidValue, .invalidValue])
    }

    @Test("several names are true, and several are false")
    func booleans() {
        for text in ["true", "yes", "on", "1", "YES", "True", " true\n", "y", "Y", "t"] {
            #expect(read(text, default: false), "\(text)")
            #expect(read(text, default: Bool?.none) == true, "\(text)")
        }
        for text in ["false", "no", "off", "0", "NO", "n", "N", "f", "F"] {
            #expect(!read(text, default: true), "\(text)")
        }
        #expect(nothingReported)
    }

    @Test("a number is converted to the setting's type")
    func numbers() {
        let (zero, half): (Int, Double) = (0, 0.5)
        #expect(read("1", default: zero) == 1)
        #expect(read("+007", default: zero) == 7)
        #expect(read(" 7\n", default: zero) == 7)
        #expect(read("1", default: half) == 1)
        #expect(read("-1e-3", default: half) == -0.001)
        #expect(read("inf", default: half) == .infinity)
        #expect(read("-0", default: half).sign == .minus)
        #expect(read("-0", default: zero) == 0)
        #expect(read("18446744073709551615", default: UInt64(0)) == .max)
        #expect(read("340282366920938463463374607431768211455", default: UInt128(0)) == .max)
        #expect(read("5", default: Duration.zero) == .seconds(5))
        #expect(nothingReported)
    }

    @Test("a list is separated by commas, is JSON, or consists of all flags")
    func lists() {
        let texts = ["x"]
        #expect(read("a", default: texts) == ["a"])
        #expect(read("a, b ,c", default: texts) == ["a", "b", "c"])
        #expect(read("", default: texts) == [])
        #expect(read("a,,b", default: texts) == ["a", "", "b"])
        #expect(read("1", "2,3", default: texts) == ["1", "2", "3"])
        #expect(read(#"["a,b"]"#, "c", default: texts) == ["a,b", "c"])
        #expect(read(#""a,b""#, default: texts) == ["a,b"])
        #expect(read("1,2.5,nan", default: [Double]()).count == 3)
        #expect(read("yes,0", default: [Bool]()) == [true, false])
        #expect(read("1,null", default: [Int?.some(0)]) == [1, nil])
        #expect(read("[[1],[2,3]]", "[[4]]", default: [[Int]]()) == [[1], [2, 3], [4]])
        #expect(read("3,1,3", default: Set<Int8>()) == [1, 3])
        #expect(read("1,2", "3,4", default: 0...1 as ClosedRange<Int>) == 3...4)
        #expect(read("null", default: [1] as [Int]?) == nil)
        #expect(nothingReported)
    }

    @Test(
        "a string that starts like JSON but is invalid JSON is reported and not split at its commas",
        arguments: [#"["a","b""#, #"{"a": "b","#, #""a","b""#, #" ["a"],["b"]"#, "[a,b]", #"["a","b"}"#]
    )
    func invalidJSON(text: String) throws {
        let (list, pairs) = (["default"], ["default": "x"])
        #expect(read(text, default: list) == list)
        #expect(read(text, default: pairs) == pairs)
        #expect(read(text, default: Rule(name: "", limit: 7)).limit == 7)
        #expect(read(text, default: StoredValue.null) == .null)
        #expect(read("x", text, default: list) == list)
        // One setting would report the same error only once.
        #expect(reporter.errors.count == 5)
        for error in reporter.errors {
            #expect(error.code == .invalidValue)
            #expect(error.fact.contains("begins like JSON, but is not valid JSON: "), "\(error.fact)")
        }
        #expect(read(text, default: "") == text)
        #expect(reporter.errors.count == 5)
    }

    @Test("an invalid element is reported even if a later flag is valid")
    func invalidElement() {
        let (numbers, pairs) = ([7], ["d": 4])
        #expect(read("1,x", "2", default: numbers) == numbers)
        #expect(read("[1", "2", default: numbers) == numbers)
        #expect(read("a=1,b=x", "c=3", default: pairs) == pairs)
        #expect(reporter.errors.map(\.path) == [[.index(1)], [], [.key("b")]])
        #expect(read("x", "2", default: 7) == 2)
        #expect(reporter.errors.count == 3)
    }

    @Test("a number that is too large is reported, and is not infinite")
    func tooLarge() {
        let (number, numbers): (Double, [Double]) = (0.5, [0.5])
        #expect(read("1e999", default: number) == number)
        #expect(read("1,-1e999", default: numbers) == numbers)
        #expect(reporter.errors.count == 2)
        #expect(read("inf", default: number) == .infinity)
    }

    @Test("a duplicate name in pairs is reported")
    func duplicateName() {
        let numbers = ["d": 4]
        #expect(read("a=1,a=2", default: numbers) == numbers)
        #expect(reporter.errors.map(\.fact) == ["--key cannot be used: the name 'a' occurs twice"])
        #expect(read("a=1,a=2", default: ["x"]) == ["a=1", "a=2"])
        #expect(reporter.errors.count == 1)
    }

    @Test("a dictionary consists of pairs or is JSON")
    func dictionaries() {
        let (texts, numbers) = (["x": "x"], ["x": 0])
        #expect(read("a=1, b=x=y", default: texts) == ["a": "1", "b": "x=y"])
        #expect(read("a=\u{301}x", default: texts) == ["a": "\u{301}x"])
        #expect(read("a=1", "b=2", default: numbers) == ["a": 1, "b": 2])
        #expect(read("a=1,b=2", "a=3", default: numbers) == ["a": 3, "b": 2])
        #expect(read(#"{"a": 1}"#, default: numbers) == ["a": 1])
        #expect(read(#"{"a": 1}"#, "b=2", default: numbers) == ["b": 2])
        #expect(read("1=true,2=no", default: [Int: Bool]()) == [1: true, 2: false])
        #expect(read("{}", default: numbers) == [:])
        #expect(nothingReported)
    }

    @Test("a structure consists of pairs or is JSON, alone and in lists")
    func structures() {
        let rule = Rule(name: "", limit: 0)
        let (a, b) = (Rule(name: "a", limit: 1), Rule(name: "b", limit: 2))
        let (textA, textB) = (#"{"name": "a", "limit": 1}"#, #"{"name": "b", "limit": 2}"#)
        #expect(read(textA, textB, default: rule) == b)
        #expect(read("name=a,limit=1", default: rule) == a)
        #expect(read(textA, default: [rule]) == [a])
        #expect(read(textA, textB, default: [rule]) == [a, b])
        #expect(read("[\(textA)]", default: [rule]) == [a])
        #expect(nothingReported)
    }

    @Test("for a type that accepts any value, a string is JSON if it is valid JSON")
    func anything() {
        #expect(read("5", default: StoredValue.null) == 5)
        #expect(read("x", default: StoredValue.null) == "x")
        #expect(read(#""5""#, default: StoredValue.null) == "5")
        #expect(read("-1.5", default: StoredValue.null) == -1.5)
        #expect(read("[1, {}]", default: StoredValue.null) == [1, [:]])
        #expect(read(#"{"a": 1}"#, default: [String: StoredValue]()) == ["a": 1])
        #expect(nothingReported)
    }

    @Test(
        "an unusable string is reported with its flag, path and a fix, but without the string itself",
        arguments: [
            ("secret", .typeMismatch, "--key cannot be used: expected an integer, found a string", "an integer"),
            ("300", .invalidValue, "--key cannot be used: the integer is outside -128...127", "an integer"),
            ("", .typeMismatch, "--key cannot be used: expected an integer, found an empty string", "an integer"),
            ("1e999", .typeMismatch, "expected an integer, found a string", "an integer"),
        ] as [(String, SettingsError.Code, String, String)]
    )
    func wrongNumber(text: String, code: SettingsError.Code, fact: String, remedy: String) throws {
        #expect(read(text, default: Int8(3)) == 3)
        let error = try #require(reporter.errors.first)
        #expect(reporter.errors.count == 1)
        #expect(error.code == code)
        #expect(error.key == "key")
        #expect(error.suite == "in memory")
        #expect(error.fact.contains(fact))
        #expect(error.remedy.contains(remedy))
        #expect(!error.message.contains("secret"))
    }

    @Test("an empty string that a type rejects with words of its own is called empty")
    func empty() {
        #expect(read("", default: Duration.seconds(3)) == .seconds(3))
        #expect(read("", default: CommandHarness.Level.info) == .info)
        let facts = reporter.errors.map(\.fact)
        #expect(facts.count == 2)
        #expect(facts[0].hasPrefix("--key cannot be used: the value is empty: the string is not a duration"))
        #expect(facts[1] == "--key cannot be used: found an empty string that is not a valid Level")
    }

    @Test("the error of an invalid element or part contains its path")
    func wrongPart() {
        #expect(read("1,x", default: [7]) == [7])
        #expect(read(#"{"name": "a", "limit": "x"}"#, default: Rule(name: "", limit: 0)).name == "")
        #expect(read("other", default: Level.info) == .info)
        #expect(reporter.errors.map(\.path) == [[.index(1)], [.key("limit")], []])
        #expect(reporter.errors.last?.remedy.contains("one of 1, true") == true)
    }

    @Test("the error for a structure asks for an object or pairs, and that for a dictionary asks for an object")
    func wrongObject() {
        let numbers = ["b": 1]
        #expect(read(#"{"name": 1}"#, default: Rule(name: "", limit: 0)).name == "")
        #expect(read(#"{"name": "a"}"#, default: numbers) == numbers)
        #expect(
            reporter.errors.map(\.remedy) == [
                "give --key a JSON object that the setting accepts, or pairs such as name=value, or omit it",
                "give --key a JSON object, or omit it",
            ]
        )
    }

    @Test("decoding any string as any type never traps", arguments: 0..<200)
    func anyText(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let alphabet: [Character] = Array(#"[]{}",:=-+.e0123456789nulltrues \_é🙂"#) + ["\n", "\0"]
        let text = String(
            (0..<Int.random(in: 0...24, using: &generator))
                .map { _ in
                    alphabet.randomElement(using: &generator) ?? " "
                }
        )
        _ = read(text, default: 0)
        _ = read(text, text, default: [[0]])
        _ = read(text, default: ["a": [true]])
        _ = read(text, default: Rule(name: "", limit: 0))
        _ = read(text, default: 0...1)
        _ = read(text, default: StoredValue.null)
        _ = CommandLineOptions(arguments: [text, "--" + text, "-" + text]).occurrences(ofKey: text)
    }

    @Test(
        "a broken text after the flag of a setting of any value is an error, not a Boolean",
        arguments: ["{\"a\":1,}", "[1"]
    )
    func brokenText(text: String) {
        let suite = SettingsSuite.inMemory(sources: [.commandLine(["--key", text])], reporter: reporter)
        #expect(Setting("key", default: StoredValue.null, suite: suite).value == .null)
        #expect(reporter.errors.map(\.code) == [.invalidValue])
    }
}
