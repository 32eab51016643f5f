// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Coding errors")
struct CodingErrorTests {
    private struct Inner: Codable {
        var port: Int, when: Date?, level: Level.CodingLevel?, url: URL?, next: [Int: [Int8]]?
    }
    private struct Outer: Codable { var list: [Inner] = [] }

    private func decodingError(of inner: StoredValue) -> SettingsError? {
        settingsError { try StoredValueDecoder().decode(Outer.self, from: ["list": [["port": 1], inner]]) }
    }

    @Test("a type mismatch names the expected and found types and the path")
    func mismatch() throws {
        let error = try #require(decodingError(of: ["port": "hunter2"]))
        #expect(error.code == .typeMismatch)
        #expect(error.path == [.key("list"), .index(1), .key("port")])
        #expect(error.message == "at list[1].port: expected an integer, found a string.")
        guard case DecodingError.typeMismatch(let type, let context)? = error.underlying as? DecodingError else {
            Issue.record("the underlying error is not the decoding error")
            return
        }
        #expect(ObjectIdentifier(type) == ObjectIdentifier(Int.self))
        #expect(context.codingPath.map(\.stringValue) == ["list", "Index 1", "port"])
    }

    @Test(
        "every other error describes the failure without the value",
        arguments: [
            (
                [:], "at list[1]: expected a value under 'port', found a dictionary without one.",
                SettingsError.Code.invalidValue
            ),
            (["port": nil], "at list[1].port: expected an integer, found null.", .typeMismatch),
            (nil, "at list[1]: expected a dictionary, found null.", .typeMismatch),
            ([7], "at list[1]: expected a dictionary, found an array.", .typeMismatch),
            (["port": 1.5], "at list[1].port: expected an integer, found a number with a fraction.", .typeMismatch),
            (
                ["port": 1, "when": "hunter2"],
                "at list[1].when: the string is not a date such as 2026-11-21T13:00:00Z.",
                .invalidValue
            ),
            (
                ["port": 1, "level": "hunter2"],
                "at list[1].level: found a string that the decoding of Outer rejected.",
                .invalidValue
            ),
            (
                ["port": 1, "url": ["base": 1, "relative": ""]],
                "at list[1].url.base: expected a string, found an integer.", .typeMismatch
            ),
            (
                ["port": 1, "next": ["2": [128]]], "at list[1].next.2[0]: the integer is outside -128...127.",
                .invalidValue
            ),
            (["port": 1, "next": 7], "at list[1].next: expected a dictionary, found an integer.", .typeMismatch),
        ] as [(StoredValue, String, SettingsError.Code)]
    )
    func messages(_ inner: StoredValue, _ message: String, _ code: SettingsError.Code) throws {
        let error = try #require(decodingError(of: inner))
        #expect(error.message == message)
        #expect(error.code == code)
        #expect(error.underlying is DecodingError)
    }

    @Test("the description of a custom decoding error is not repeated")
    func customDecodingError() throws {
        struct Revealing: Decodable {
            init(from decoder: any Decoder) throws {
                let value = try decoder.singleValueContainer().decode(String.self)
                throw DecodingError.typeMismatch(
                    URL.self,
                    .init(codingPath: decoder.codingPath, debugDescription: "bad: \(value)")
                )
            }
        }
        let error = try #require(settingsError { try StoredValueDecoder().decode([Revealing].self, from: ["hunter2"]) })
        #expect(error.message == "at [0]: expected URL, found a string.")
        #expect("\(error.underlying as Any)".contains("hunter2"))
    }

    @Test("other errors are preserved and described by their type")
    func otherErrors() throws {
        struct CustomError: Error { var value: String }
        struct Throwing: Codable {
            init() {}
            init(from decoder: any Decoder) throws { throw CustomError(value: "hunter2") }
            func encode(to encoder: any Encoder) throws { throw CustomError(value: "hunter2") }
        }
        let reading = try #require(settingsError { try StoredValueDecoder().decode(Throwing.self, from: 1) })
        #expect(
            reading.code == .invalidValue && reading.underlying is CustomError && !reading.message.contains("hunter2")
        )
        let writing = try #require(settingsError { try StoredValueEncoder().encode([Throwing()]) })
        #expect(
            writing.code == .unstorable && writing.underlying is CustomError && !writing.message.contains("hunter2")
        )
    }

    @Test("the end of an array is an error, and a failed element can be decoded as another type")
    func elements() throws {
        struct Pair: Decodable {
            var text: String
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                do {
                    text = String(try container.decode(Int.self))
                } catch is DecodingError {
                    text = try container.decode(String.self)
                }
                text += try container.decode(String.self)
            }
        }
        #expect(try StoredValueDecoder().decode(Pair.self, from: ["a", "b"]).text == "ab")
        let error = try #require(settingsError { try StoredValueDecoder().decode(Pair.self, from: [1]) })
        #expect(error.message == "at [1]: expected one more element, found the end of the array.")
    }

    @Test("a contradictory encoding fails instead of trapping", arguments: 0..<5)
    func contradiction(_ variant: Int) throws {
        struct Contradictory: Encodable {
            var variant: Int
            func encode(to encoder: any Encoder) throws {
                var single = encoder.singleValueContainer()
                switch variant {
                case 0:
                    try single.encode(1)
                    try single.encode(2)
                case 1:
                    try single.encode(1)
                    var container = encoder.unkeyedContainer()
                    try container.encode(2)
                case 2:
                    _ = encoder.unkeyedContainer()
                    _ = encoder.container(keyedBy: Derived.Keys.self)
                case 3:
                    _ = encoder.container(keyedBy: Derived.Keys.self)
                    try single.encodeNil()
                default:
                    throw EncodingError.invalidValue(
                        "hunter2",
                        .init(codingPath: encoder.codingPath, debugDescription: "hunter2")
                    )
                }
            }
        }
        let error = try #require(
            settingsError { try StoredValueEncoder().encode(["k": [Contradictory(variant: variant)]]) }
        )
        #expect(error.code == .unstorable)
        #expect(error.path == [.key("k"), .index(0)])
        #expect(error.underlying is EncodingError)
        #expect(!error.message.contains("hunter2"))
    }
}
