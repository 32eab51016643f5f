// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("The text of an override")
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

    /// What the texts are read as, when they are given one after the other.
    private func read<Value: StoredValueConvertible>(_ texts: String..., default value: Value) -> Value {
        let arguments = texts.map { "--key=\($0)" }
        let suite = SettingsSuite.inMemory(overrides: [.commandLine(arguments)], reporter: reporter)
        return Setting("key", default: value, suite: suite).value
    }

    private var nothingReported: Bool { reporter.errors.isEmpty }

    @Test(
        "is a string to what takes strings",
        arguments: ["", "5", "true", "null", "[1]", #""x""#, "a,b", " ", "-", "é\n"]
    )
    func strings(text: String) {
        #expect(read(text, default: "default") == text)
        #expect(read(text, default: String?.none) == text)
        #expect(nothingReported)
    }

    @Test("is a string even to an enum whose raw values look like something else")
    func rawValues() {
        #expect(read("1", default: Level.debug) == .info)
        #expect(read("true", default: Level.info) == .debug)
        #expect(nothingReported)
    }

    @Test(
        "is a Boolean by several names",
        arguments: ["true", "yes", "on", "1", "YES", "True", " true\n", "y", "Y", "t"]
    )
    func booleans(text: String) {
        #expect(read(text, default: false))
        #expect(read(text, default: Bool?.none) == true)
        #expect(nothingReported)
    }

    @Test("is false by several names", arguments: ["false", "no", "off", "0", "NO", "n", "N", "f", "F"])
    func falsehoods(text: String) {
        #expect(!read(text, default: true))
        #expect(nothingReported)
    }

    @Test("is a number as the type needs it")
    func numbers() {
        let (zero, half): (Int, Double) = (0, 0.5)
        #expect(read("1", default: zero) == 1)
        #expect(read("+007", default: zero) == 7)
        #expect(read(" 7\n", default: zero) == 7)
        #expect(read("1", default: half) == 1)
        #expect(read("-1e-3", default: half) == -0.001)
        #expect(read("inf", default: half) == .infinity)
        #expect(read("18446744073709551615", default: UInt64(0)) == .max)
        #expect(read("340282366920938463463374607431768211455", default: UInt128(0)) == .max)
        #expect(read("5", default: Duration.zero) == .seconds(5))
        #expect(nothingReported)
    }

    @Test("is a list of what is between commas, of JSON, or of all that was given")
    func lists() {
        let texts = ["x"]
        #expect(read("a", default: texts) == ["a"])
        #expect(read("a, b ,c", default: texts) == ["a", "b", "c"])
        #expect(read("", default: texts) == [])
        #expect(read("a,,b", default: texts) == ["a", "", "b"])
        #expect(read("1", "2,3", default: texts) == ["1", "2", "3"])
        #expect(read(#"["a,b"]"#, "c", default: texts) == ["a,b", "c"])
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
        "that begins like JSON and is not valid JSON is reported, and is not cut at its commas",
        arguments: [#"["a","b""#, #"{"a": "b","#, #""a","b""#, #" ["a"],["b"]"#, "[a,b]", #"["a","b"}"#]
    )
    func brokenJSON(text: String) throws {
        let (list, pairs) = (["default"], ["default": "x"])
        #expect(read(text, default: list) == list)
        #expect(read(text, default: pairs) == pairs)
        #expect(read(text, default: Rule(name: "", limit: 7)).limit == 7)
        #expect(read(text, default: StoredValue.null) == .null)
        #expect(read("x", text, default: list) == list)
        // Without a suite for each, the same error would be reported once.
        #expect(reporter.errors.count == 5)
        for error in reporter.errors {
            #expect(error.code == .invalidValue)
            #expect(error.fact.contains("begins like JSON, but is not valid JSON: "), "\(error.fact)")
        }
        #expect(read(text, default: "") == text)
        #expect(reporter.errors.count == 5)
    }

    @Test("is one element if it is a string of JSON")
    func stringOfJSON() {
        #expect(read(#""a,b""#, default: [String]()) == ["a,b"])
        #expect(nothingReported)
    }

    @Test("that is unusable is reported although a later one of the same list is usable")
    func unusableBefore() {
        let (numbers, pairs) = ([7], ["d": 4])
        #expect(read("1,x", "2", default: numbers) == numbers)
        #expect(read("[1", "2", default: numbers) == numbers)
        #expect(read("a=1,b=x", "c=3", default: pairs) == pairs)
        #expect(reporter.errors.map(\.path) == [[.index(1)], [], [.key("b")]])
        #expect(read("x", "2", default: 7) == 2)
        #expect(reporter.errors.count == 3)
    }

    @Test("that has one name twice is reported, if pairs are wanted")
    func nameTwice() {
        let numbers = ["d": 4]
        #expect(read("a=1,a=2", default: numbers) == numbers)
        #expect(reporter.errors.map(\.fact) == ["--key cannot be used: a name occurs twice"])
        #expect(read("a=1,a=2", default: ["x"]) == ["a=1", "a=2"])
        #expect(reporter.errors.count == 1)
    }

    @Test("is a dictionary of pairs or of JSON")
    func dictionaries() {
        let (texts, numbers) = (["x": "x"], ["x": 0])
        #expect(read("a=1, b=x=y", default: texts) == ["a": "1", "b": "x=y"])
        #expect(read("a=1", "b=2", default: numbers) == ["a": 1, "b": 2])
        #expect(read(#"{"a": 1}"#, default: numbers) == ["a": 1])
        #expect(read(#"{"a": 1}"#, "b=2", default: numbers) == ["b": 2])
        #expect(read("1=true,2=no", default: [Int: Bool]()) == [1: true, 2: false])
        #expect(read("{}", default: numbers) == [:])
        #expect(nothingReported)
    }

    @Test("is a structure of pairs or of JSON, alone and in lists")
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

    @Test("is JSON, if it can be, to what takes anything")
    func anything() {
        #expect(read("5", default: StoredValue.null) == 5)
        #expect(read("x", default: StoredValue.null) == "x")
        #expect(read(#""5""#, default: StoredValue.null) == "5")
        #expect(read("[1, {}]", default: StoredValue.null) == [1, [:]])
        #expect(read(#"{"a": 1}"#, default: [String: StoredValue]()) == ["a": 1])
        #expect(nothingReported)
    }

    @Test(
        "that does not do is reported with the flag, the place in the value and what would do, but without the text",
        arguments: [
            ("secret", .typeMismatch, "--key cannot be used: expected an integer, found a string", "an integer"),
            ("300", .invalidValue, "--key cannot be used: the integer is outside -128...127", "an integer"),
            ("", .typeMismatch, "expected an integer, found a string", "an integer"),
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

    @Test("names the element or the part that is wrong")
    func wrongPart() {
        #expect(read("1,x", default: [7]) == [7])
        #expect(read(#"{"name": "a", "limit": "x"}"#, default: Rule(name: "", limit: 0)).name == "")
        #expect(read("other", default: Level.info) == .info)
        #expect(reporter.errors.map(\.path) == [[.index(1)], [.key("limit")], []])
        #expect(reporter.errors.last?.remedy.contains("one of 1, true") == true)
    }

    @Test("says of a structure that all its parts are wanted, and of a dictionary only that it is an object")
    func missingPart() {
        let numbers = ["b": 1]
        #expect(read(#"{"name": "a"}"#, default: Rule(name: "", limit: 0)).name == "")
        #expect(read(#"{"name": "a"}"#, default: numbers) == numbers)
        #expect(
            reporter.errors.map(\.remedy) == [
                "give --key a JSON object with all of its parts, or omit it",
                "give --key a JSON object, or omit it",
            ]
        )
    }

    @Test("never traps, whatever it is, for any type", arguments: 0..<200)
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
}
