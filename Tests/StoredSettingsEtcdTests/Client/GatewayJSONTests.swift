// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("Reading messages in place")
struct GatewayJSONTests {
    /// The value of a text, which `JSONReader` would read; `nil` if it is not valid.
    static func value(_ text: String) -> StoredValue? {
        guard let json = GatewayJSON(Array(text.utf8), maximumDepth: GatewayObject.maximumDepth) else { return nil }
        return value(0, json)
    }

    private static func value(_ index: Int, _ json: GatewayJSON) -> StoredValue? {
        let value = json.values[index]
        switch value.kind {
        case .null: return .null
        case .true: return .bool(true)
        case .false: return .bool(false)
        case .number: return GatewayJSON.read(json.bytes[value.range])
        case .plainString, .otherString: return .string(json.string(of: value))
        case .array: return .array(children(of: index, json).compactMap { self.value($0, json) })
        case .object:
            // Names and values alternate.
            let children = children(of: index, json)
            var members: [String: StoredValue] = [:]
            for place in stride(from: 0, to: children.count, by: 2) {
                members[json.string(of: json.values[children[place]])] = self.value(children[place + 1], json)
            }
            return .dictionary(members)
        }
    }

    private static func children(of index: Int, _ json: GatewayJSON) -> [Int] {
        var (children, next) = ([Int](), index + 1)
        while next < json.values[index].next {
            children.append(next)
            next = Int(json.values[next].next)
        }
        return children
    }

    static func reference(_ text: String) -> StoredValue? {
        do {
            return try JSONReader.read(Array(text.utf8))
        } catch {
            return nil
        }
    }

    static let texts = [
        "{}", "[]", " [ ] ", "{ }", "null", "true", "false", "0", "-1.5e3", "\"\"", "\"a\"", "\"\\u00e9\\n\"", "\"ä\"",
        "[1,[2,[3]],{}]", "{\"a\":1,\"b\":{\"c\":[true,null]},\"d\":\"x\"}", "\u{FEFF}{\"a\":1}",
        "{\"a\":{\"a\":1},\"b\":1}",
        // Not valid.
        "", " ", "{", "}", "[", "]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "[1,]", "[,]", "[1 2]", "{\"a\" 1}",
        "tru", "truex", "nul", "falsey", "01", "1.", "-", "+1", "1e", ".5", "\"", "\"a", "\"\\\"", "\"\\x\"",
        "\"\\ud800\"",
        "\"\n\"",
        "{\"a\":1,\"a\":2}", "{a:1}", "[1]]", "{} {}", "[1}", "{\"a\":1]", "'a'", "// x\n1", "\"\u{1}\"",
        "170141183460469231731687303715884105728", "1E400",
    ]

    @Test("A text has the same value as for the reader of files, or is invalid for both", arguments: texts)
    func sameValue(_ text: String) {
        #expect(Self.value(text) == Self.reference(text))
    }

    @Test("Bytes that are not UTF-8 are invalid")
    func invalidUTF8() {
        for bytes: [UInt8] in [[0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0xFF], [0x22, 0xED, 0xA0, 0x80, 0x22]] {
            #expect(GatewayJSON(bytes, maximumDepth: 32) == nil)
        }
    }

    @Test("Random changes of a message give the same value, or are invalid for both")
    func randomChanges() {
        let message = Array(
            #"{"header":{"revision":"12"},"ok":true,"kvs":[{"key":"YQ==","n":-1.5,"t":"x"},{},[null,false]]}"#.utf8
        )
        var valid = 0
        let letters = Array("\"\\{}[],:0-e.tna \n".utf8)
        for seed in 0..<4_000 {
            var random = SeededGenerator(seed: UInt64(seed))
            var bytes = message
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = bytes.indices.randomElement(using: &random) ?? 0
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[index] = letters.randomElement(using: &random) ?? 0
                case 1: bytes.remove(at: index)
                default: bytes.insert(letters.randomElement(using: &random) ?? 0, at: index)
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let (value, reference) = (Self.value(text), Self.reference(text))
            if value != nil { valid += 1 }
            // A name with an escape is refused.
            if value == nil, reference != nil, text.contains("\\") { continue }
            #expect(value == reference, "seed \(seed): \(text)")
        }
        #expect(valid > 100)
    }

    @Test("Names that etcd does not use are refused, with the reason")
    func names() {
        let members = (0...64).map { "\"m\($0)\":0" }.joined(separator: ",")
        let longName = String(repeating: "n", count: 129)
        for text in ["{\"\\u0061\":1}", "{\"ä\":1}", "{\(members)}", "{\"\(longName)\":1}"] {
            let error = #expect(throws: GatewayObject.Malformed.self) { _ = try GatewayObject(Array(text.utf8)) }
            #expect(error?.reason.contains("that etcd does not use") == true)
        }
    }

    @Test("Nesting is limited, also where a message is not valid")
    func depth() {
        let deepest = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
        #expect(Self.value(deepest) != nil)
        #expect(Self.value("[\(deepest)]") == nil)
        #expect(Self.value(String(repeating: "[", count: 1_000_000)) == nil)
    }

    @Test("An integer of 64 bits is read exactly, or is an error")
    func integers() throws {
        func integer<Number: FixedWidthInteger>(_ text: String, _: Number.Type) -> Number? {
            do {
                return try GatewayObject(Array("{\"n\":\(text)}".utf8)).integer("n", as: Number.self)
            } catch {
                return nil
            }
        }
        #expect(integer("\"\(Int64.max)\"", Int64.self) == .max)
        #expect(integer("\"\(Int64.min)\"", Int64.self) == .min)
        #expect(integer("\"\(UInt64.max)\"", UInt64.self) == .max)
        #expect(integer("\"007\"", Int64.self) == 7)
        #expect(integer("null", Int64.self) == 0)
        for text in [
            "\"9223372036854775808\"", "\"-9223372036854775809\"", "\"+1\"", "\"\"", "\"-\"", "\"1 \"", "\"1e1\"", "1",
            "true",
            "\"\\u0031\"", "{}",
        ] {
            #expect(integer(text, Int64.self) == nil)
        }
        #expect(integer("\"-1\"", UInt64.self) == nil)
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        do {
            return try GatewayObject(Array("{\"b\":\"\(text)\"}".utf8)).bytes("b")
        } catch {
            return nil
        }
    }

    @Test("Bytes of any length are written as base64, and read again")
    func bytes() {
        var generator = SeededGenerator(seed: 1)
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let text = GatewayWriter.object { $0.write("b", base64: bytes) }
            #expect(String(decoding: text, as: UTF8.self) == "{\"b\":\"\(Data(bytes).base64EncodedString())\"}")
            #expect(Self.bytes(Data(bytes).base64EncodedString()) == bytes)
        }
    }

    @Test("Each of several values, some of which are repeated, is written as its own base64")
    func repeatedBytes() throws {
        let values = (0..<12).map { [UInt8](repeating: UInt8($0 % 6), count: 1 + $0 % 2) }
        let text = GatewayWriter.object { text in
            text.writeObjects("l", values) { $1.write("b", base64: $0) }
        }
        #expect(try GatewayObject(text).objects("l").map { try $0.bytes("b") } == values)
    }

    @Test(
        "A string that is not exactly an encoding is refused",
        arguments: [
            "A", "AA", "AAA", "AA=A", "A===", "====", "AA==AA==", "AA=", "AAA?", "AA A", "AAAA\\n", "AAA\u{e9}", "AB==",
            "AAB=", "AA-_", "AAAA=", "=AAA",
        ]
    )
    func invalidBase64(_ text: String) {
        #expect(Self.bytes(text) == nil)
    }
}
