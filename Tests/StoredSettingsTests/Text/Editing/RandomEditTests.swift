// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import StoredSettings

@Suite("Random edits of commented files", .serialized)
struct RandomEditTests {
    private static let path = FilePath("/settings.json")

    @Test("random edits change only the members that were set, byte for byte", arguments: 0..<10)
    func edits(part: UInt64) throws {
        for seed in Array(part * 1_000..<(part + 1) * 1_000).sampled(40, salt: Int(part)) { try check(seed) }
    }

    private func check(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ 0x5EED)
        let (file, bytes) = try CommentedFileWriter.file(seed: seed)
        let text = try SettingsFileText(bytes)
        // The generator and the reader agree, so the model is right.
        guard text.contents == file.contents, TextTokens(bytes).tokens == file.tokens.map(\.text) else {
            Issue.record("seed \(seed): the generator is wrong: \(String(decoding: bytes, as: UTF8.self))")
            return
        }
        let new = random.changed(file.contents, depth: 2)
        let result = try text.changed(to: new, path: Self.path)
        var expected = file
        try expected.change(to: new)
        if let problem = try difference(between: result, and: expected, of: bytes, new) {
            Issue.record(
                """
                seed \(seed): \(problem)
                \(String(decoding: bytes, as: UTF8.self))
                \(String(decoding: result, as: UTF8.self))
                """
            )
        }
    }

    /// What is wrong in an edited text, if anything.
    private func difference(
        between result: [UInt8],
        and expected: CommentedFile,
        of original: [UInt8],
        _ contents: [String: StoredValue]
    ) throws -> String? {
        guard try SettingsFileText(result).contents == contents else { return "the text is read as other values" }
        let (before, after) = (TextTokens(original), TextTokens(result))
        let tokens = expected.tokens
        // All comments, names, values and punctuation marks, those of unchanged members byte for byte.
        guard after.tokens == tokens.map(\.text) else { return "other tokens than \(tokens.map(\.text))" }
        // White space between two tokens that were neighbors before.
        var numbers = [-1] + tokens.map(\.number) + [before.tokens.count]
        if tokens.isEmpty { numbers = [] }
        for (index, pair) in zip(numbers, numbers.dropFirst()).enumerated() {
            guard let left = pair.0, let right = pair.1, left + 1 == right else { continue }
            guard after.spaces[index] == before.spaces[right] else { return "other white space at token \(index)" }
        }
        return nil
    }

    @Test("keys that are set and unset again leave all comments, names and values as they were", arguments: 0..<10)
    func settingAndUnsetting(part: UInt64) throws {
        for seed in Array(part * 1_000..<(part + 1) * 1_000).sampled(30, salt: Int(part)) {
            var random = SeededGenerator(seed: seed &+ 0x5E7)
            let (file, bytes) = try CommentedFileWriter.file(seed: seed)
            let objects = file.contents.filter { $0.value.kind == .dictionary }.keys.sorted()
            let paths = ["0", "bb", "x y", "~"].flatMap { name in [[name]] + objects.map { [$0, name] } }
            var (text, contents) = (bytes, file.contents)
            for value: StoredValue? in [.integer(1), .none] {
                for path in paths.shuffled(using: &random) {
                    contents = Self.setting(path, to: value, in: contents)
                    text = try SettingsFileText(text).changed(to: contents, path: Self.path)
                }
            }
            guard TextTokens(text).tokens != TextTokens(bytes).tokens else { continue }
            Issue.record(
                """
                seed \(seed):
                \(String(decoding: bytes, as: UTF8.self))
                \(String(decoding: text, as: UTF8.self))
                """
            )
        }
    }

    /// Returns entries with another value of a member: of the outermost object, or of an object in it.
    private static func setting(
        _ path: [String],
        to value: StoredValue?,
        in entries: [String: StoredValue]
    ) -> [String: StoredValue] {
        var entries = entries
        if path.count == 2, case .dictionary(var members)? = entries[path[0]] {
            members[path[1]] = value
            entries[path[0]] = .dictionary(members)
        } else {
            entries[path[0]] = value
        }
        return entries
    }

    @Test(
        "an edit of a file that the library has written has the same result as writing the file anew",
        arguments: 0..<4
    )
    func canonicalFiles(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for round in 0..<TestRun.count(quick: 40, exhaustive: 250) {
            let old = random.entries(depth: 3)
            let new = random.changed(old, depth: 3)
            let text = try SettingsFileText(JSONWriter.prettyText(of: .dictionary(old)))
            let result = try text.changed(to: new, path: Self.path)
            if try result != JSONWriter.prettyText(of: .dictionary(new)) {
                Issue.record("round \(round): \(old) \(new) \(String(decoding: result, as: UTF8.self))")
            }
        }
    }
}

extension SeededGenerator {
    /// Changes, adds and removes some values.
    fileprivate mutating func changed(_ contents: [String: StoredValue], depth: Int) -> [String: StoredValue] {
        var result: [String: StoredValue] = [:]
        let removal = [0, 10, 50, 100].randomElement(using: &self) ?? 0
        // The order of a dictionary differs between processes.
        for name in contents.keys.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            guard let value = contents[name], Int.random(in: 0..<100, using: &self) >= removal else { continue }
            switch (Int.random(in: 0..<4, using: &self), value) {
            case (0, _): result[name] = newValue(depth: depth)
            case (1, .dictionary(let entries)), (2, .dictionary(let entries)):
                result[name] = .dictionary(changed(entries, depth: depth - 1))
            default: result[name] = value
            }
        }
        for _ in 0..<Int.random(in: 0..<4, using: &self) {
            let name = ["a", "b", "c", "d2", "port", "log", "!", "#", "zz", ""].randomElement(using: &self) ?? "a"
            if result[name] == nil { result[name] = newValue(depth: depth) }
        }
        return result
    }

    private mutating func newValue(depth: Int) -> StoredValue {
        switch Int.random(in: 0..<(depth > 0 ? 6 : 4), using: &self) {
        case 0: 2
        case 1: "new\n// é"
        case 2: .double(0.5)
        case 3: []
        case 4: .array([newValue(depth: depth - 1), .null])
        default: .dictionary(changed([:], depth: depth - 1))
        }
    }
}
