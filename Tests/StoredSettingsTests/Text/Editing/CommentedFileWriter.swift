// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import StoredSettings

/// Generates settings files as people write them: with comments everywhere, in any order and form.
struct CommentedFileWriter {
    private var random: SeededGenerator
    private let lineBreak: String
    private let unit: String
    /// How often something unusual is generated, in percent.
    private let frequency: Int
    private var text = ""
    private var count = 0

    /// Generates a file.
    static func file(seed: UInt64) throws -> (file: CommentedFile, bytes: [UInt8]) {
        var writer = CommentedFileWriter(seed: seed)
        return try writer.file()
    }

    private init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        lineBreak = ["\n", "\n", "\r\n", "\r"].randomElement(using: &random) ?? "\n"
        unit = ["  ", "    ", "\t", " ", ""].randomElement(using: &random) ?? "  "
        frequency = [5, 20, 40].randomElement(using: &random) ?? 20
    }

    private mutating func file() throws -> (file: CommentedFile, bytes: [UInt8]) {
        if happens(10) { text += "\u{FEFF}" }
        var before: [CommentedFile.Token] = []
        while happens(frequency) {
            before.append(comment(onOneLine: false))
            text += lineBreak
        }
        let object = try object(indentation: "", depth: 2, isOutermost: true)
        var behind: [CommentedFile.Token] = []
        if happens(frequency) {
            text += " "
            behind.append(comment(onOneLine: false))
        }
        if happens(80) { text += lineBreak }
        return (CommentedFile(before: before, object: object, behind: behind), Array(text.utf8))
    }

    private mutating func happens(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    // MARK: Tokens

    private mutating func put(_ token: String) -> CommentedFile.Token {
        var result = CommentedFile.Token(token)
        (result.number, count) = (count, count + 1)
        text += token
        return result
    }

    private mutating func comment(onOneLine: Bool) -> CommentedFile.Token {
        let words = ["port", "\"quoted\"", "{", "}", "a: 1,", "//", "/*", "é😀", "\\", "*", ""].shuffled(using: &random)
        let content = words.prefix(2).joined(separator: " ")
        if !onOneLine, happens(60) { return put("//" + content) }
        let isLong = !onOneLine && happens(20)
        return put("/*" + content + (isLong ? lineBreak + " more " : " ") + "*/")
    }

    /// Comments within a member, which may be anything but must not end its line unless they say so.
    private mutating func comments() -> [CommentedFile.Token] {
        var comments: [CommentedFile.Token] = []
        while happens(frequency / 3) {
            text += " "
            comments.append(comment(onOneLine: true))
            text += " "
        }
        return comments
    }

    // MARK: Objects

    private mutating func object(
        indentation: String,
        depth: Int,
        isOutermost: Bool = false,
        mustBeOnOneLine: Bool = false
    ) throws -> CommentedFile.Object {
        var object = CommentedFile.Object()
        object.isOnOneLine = mustBeOnOneLine || happens(isOutermost ? 10 : 40)
        object.hasTrailingComma = happens(frequency)
        object.open = put("{")
        var names = (0..<Int.random(in: 0..<6, using: &random)).map { _ in name() }
        names = Array(Set(names)).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        if happens(50) { names.shuffle(using: &random) }
        if isOutermost, happens(20) { names.insert("$schema", at: names.indices.randomElement(using: &random) ?? 0) }
        if names.isEmpty { object.hasTrailingComma = false }
        let inner = indentation + unit
        if object.isOnOneLine {
            try putMembers(names, of: &object, indentation, depth)
        } else {
            if happens(frequency) {
                text += " "
                object.behindOpen.append(comment(onOneLine: false))
            }
            try putMembers(names, of: &object, inner, depth)
            let count = object.items.count
            while happens(frequency) {
                // Separated from the last member.
                text += lineBreak + inner
                object.items.append(.comment(comment(onOneLine: false)))
            }
            let isOpen = object.members.last?.behind.last?.text.hasPrefix("//") == false
            text += isOpen && count == object.items.count && happens(30) ? " " : lineBreak + indentation
        }
        object.close = put("}")
        return object
    }

    private mutating func name() -> String {
        ["a", "b", "c", "d", "port", "log.level", "é", "#", "Z", "e\"\\\n"].randomElement(using: &random) ?? "a"
    }

    private mutating func putMembers(
        _ names: [String],
        of object: inout CommentedFile.Object,
        _ indentation: String,
        _ depth: Int
    ) throws {
        // Some members are behind others on their line, or behind the opening brace.
        let isBehind = names.indices.map { index in
            object.isOnOneLine || happens(15) && (index > 0 || object.behindOpen.isEmpty)
        }
        for (index, name) in names.enumerated() {
            let isLast = index == names.count - 1
            if isBehind[index] {
                if happens(70) { text += " " }
            } else {
                text += lineBreak
                if happens(frequency) {
                    text += indentation
                    object.items.append(.comment(comment(onOneLine: false)))
                    text += lineBreak + lineBreak
                } else if happens(20) {
                    text += lineBreak
                }
                text += indentation
            }
            let hasComma = !isLast || object.hasTrailingComma
            var member = try member(name, indentation, isOnOneLine: isBehind[index], hasComma: hasComma, depth)
            member.isFirstOnLine = !isBehind[index]
            // A comment before a member on the same line would belong to that one.
            if isLast || !isBehind[index + 1] { putComments(behind: &member, onOneLine: object.isOnOneLine) }
            object.items.append(.member(member))
        }
        if object.isOnOneLine, happens(50) { text += " " }
    }

    private mutating func member(
        _ name: String,
        _ indentation: String,
        isOnOneLine: Bool,
        hasComma: Bool,
        _ depth: Int
    ) throws -> CommentedFile.Member {
        var before: [CommentedFile.Token] = []
        while happens(frequency) {
            before.append(comment(onOneLine: isOnOneLine))
            text += isOnOneLine ? " " : lineBreak + indentation
        }
        let nameToken = put(quoted(name))
        var colon = comments()
        colon.append(put(":"))
        colon += comments()
        if happens(80) { text += " " }
        let value = try value(indentation, depth, isOnOneLine, isSchema: name == "$schema")
        var member = CommentedFile.Member(name: name, nameToken: nameToken, before: before, colon: colon, value: value)
        if hasComma {
            member.beforeComma = comments()
            member.comma = put(",")
        }
        return member
    }

    private mutating func putComments(behind member: inout CommentedFile.Member, onOneLine isOnOneLine: Bool) {
        while happens(frequency) {
            text += " "
            let comment = comment(onOneLine: isOnOneLine)
            member.behind.append(comment)
            if comment.text.hasPrefix("//") { break }
        }
    }

    // MARK: Values

    private mutating func quoted(_ string: String) -> String {
        guard happens(20), let first = string.unicodeScalars.first, first.value < 0x80, first.value >= 0x20 else {
            return String(decoding: JSONWriter.text(ofName: string), as: UTF8.self)
        }
        let rest = String(string.unicodeScalars.dropFirst())
        let code = String(first.value, radix: 16)
        return "\"\\u00" + code + String(decoding: JSONWriter.text(ofName: rest).dropFirst(), as: UTF8.self)
    }

    private mutating func value(
        _ indentation: String,
        _ depth: Int,
        _ isOnOneLine: Bool,
        isSchema: Bool
    ) throws -> CommentedFile.Value {
        if isSchema { return .other([put(#""https://example.org/schema.json""#)], "https://example.org/schema.json") }
        if depth > 0, happens(30) {
            return .object(
                try object(indentation: indentation, depth: depth - 1, mustBeOnOneLine: isOnOneLine && happens(70))
            )
        }
        if happens(20) { return array() }
        let choices: [(String, StoredValue)] = [
            ("1", 1), ("-7", -7), ("1e2", .double(100)), ("0.10", .double(0.1)), ("true", true), ("null", .null),
            (#""x\/y""#, "x/y"), (#""// no comment""#, "// no comment"), (#""{\"""#, "{\""), (#""\u00e9""#, "é"),
        ]
        let (text, value) = choices.randomElement(using: &random) ?? ("1", 1)
        return .other([put(text)], value)
    }

    private mutating func array() -> CommentedFile.Value {
        var tokens = [put("[")]
        var values: [StoredValue] = []
        for number in 0..<Int.random(in: 0..<3, using: &random) {
            if number > 0 { tokens.append(put(",")) }
            tokens += comments()
            tokens.append(put("\(number)"))
            values.append(.integer(Int128(number)))
            tokens += comments()
        }
        if !values.isEmpty, happens(frequency) { tokens.append(put(",")) }
        tokens += comments()
        tokens.append(put("]"))
        return .other(tokens, .array(values))
    }
}
