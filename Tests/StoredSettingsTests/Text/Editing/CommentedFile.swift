// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import StoredSettings

/// A settings file with comments, as a model that knows which comment belongs to which member.
///
/// It is written by ``CommentedFileWriter`` and changed by ``change(to:)``, neither of which uses the code under test.
struct CommentedFile {
    /// A comment, a name, a punctuation mark, or another part of a value.
    struct Token: Equatable {
        let text: String
        /// The number of the token in the text as it was generated; `nil` for a new token.
        var number: Int?

        init(_ text: String) { self.text = text }
    }

    struct Member {
        var name: String
        var nameToken: Token
        /// The comments directly before the member.
        var before: [Token] = []
        /// The comments on both sides of the colon, with the colon.
        var colon: [Token]
        var value: Value
        /// The comments between the value and the comma.
        var beforeComma: [Token] = []
        var comma: Token?
        /// The comments behind the member on its line.
        var behind: [Token] = []
        /// Whether no other member is before it on its line.
        var isFirstOnLine = true
    }

    struct Object {
        enum Item {
            case member(Member)
            /// A comment that belongs to no member.
            case comment(Token)
        }

        var open = Token("{")
        /// The comments on the line of the opening brace.
        var behindOpen: [Token] = []
        var items: [Item] = []
        var close = Token("}")
        var isOnOneLine = false
        var hasTrailingComma = false
    }

    enum Value {
        case object(Object)
        /// A value with its tokens, and what they mean.
        case other([Token], StoredValue)
    }

    var before: [Token] = []
    var object: Object
    var behind: [Token] = []
}

// MARK: - Contents and tokens

extension CommentedFile {
    static let reservedName = "$schema"

    /// The contents as the file says them.
    var contents: [String: StoredValue] {
        var contents = object.contents
        contents[Self.reservedName] = nil
        return contents
    }

    var tokens: [Token] { before + object.tokens + behind }
}

extension CommentedFile.Object {
    var members: [CommentedFile.Member] {
        items.compactMap { if case .member(let member) = $0 { member } else { nil } }
    }

    var contents: [String: StoredValue] {
        Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.value.storedValue) })
    }

    var tokens: [CommentedFile.Token] {
        let inside = items.flatMap { item in
            switch item {
            case .comment(let token): [token]
            case .member(let member): member.tokens
            }
        }
        return [open] + behindOpen + inside + [close]
    }
}

extension CommentedFile.Member {
    var tokens: [CommentedFile.Token] {
        before + [nameToken] + colon + value.tokens + beforeComma + (comma.map { [$0] } ?? []) + behind
    }
}

extension CommentedFile.Value {
    var storedValue: StoredValue {
        switch self {
        case .object(let object): .dictionary(object.contents)
        case .other(_, let value): value
        }
    }

    var tokens: [CommentedFile.Token] {
        switch self {
        case .object(let object): object.tokens
        case .other(let tokens, _): tokens
        }
    }
}

// MARK: - Changes

extension CommentedFile {
    /// Changes the members whose values differ, and no others.
    mutating func change(to contents: [String: StoredValue]) throws {
        try object.change(to: contents, isOutermost: true)
    }
}

extension CommentedFile.Object {
    fileprivate mutating func change(to new: [String: StoredValue], isOutermost: Bool = false) throws {
        let isReserved = { (name: String) in isOutermost && name == CommentedFile.reservedName }
        let names = members.map(\.name).filter { !isReserved($0) }
        let isSorted = names == names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let added = Set(new.keys).subtracting(names).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let firstMember = items.firstIndex { if case .member = $0 { true } else { false } }

        var result: [Item] = []
        /// Where a member goes that precedes all others.
        var start: Int?
        for (index, item) in items.enumerated() {
            guard case .member(var member) = item else {
                result.append(item)
                continue
            }
            let value = new[member.name]
            let isRemoved = value == nil && !isReserved(member.name)
            if isRemoved { result += member.before.map(Item.comment) }
            if index == firstMember { start = result.count }
            guard !isRemoved else {
                // The comments behind the first member on a line are about that one.
                if !member.isFirstOnLine { result += (member.beforeComma + member.behind).map(Item.comment) }
                continue
            }
            if let value { try member.value.change(to: value) }
            if result.allSatisfy({ if case .member = $0 { false } else { true } }) {
                start = result.count + (isReserved(member.name) ? 1 : 0)
            }
            result.append(.member(member))
        }
        let hasMembers = result.contains { if case .member = $0 { true } else { false } }
        for name in added {
            let member = CommentedFile.Member(
                name: name,
                nameToken: try CommentedFile.tokens(of: .string(name))[0],
                colon: [CommentedFile.Token(":")],
                value: .other(try CommentedFile.tokens(of: new[name] ?? .null), new[name] ?? .null)
            )
            let predecessor = result.lastIndex { item in
                guard case .member(let other) = item, !isReserved(other.name) else { return false }
                return !isSorted && hasMembers || other.name.utf8.lexicographicallyPrecedes(name.utf8)
            }
            let last = result.lastIndex { if case .member = $0 { true } else { false } }
            let place = isSorted || !hasMembers ? predecessor.map { $0 + 1 } ?? start : last.map { $0 + 1 }
            result.insert(.member(member), at: place ?? result.count)
        }
        items = result
        fixCommas()
    }

    private mutating func fixCommas() {
        let last = items.lastIndex { if case .member = $0 { true } else { false } }
        for (index, item) in items.enumerated() {
            guard case .member(var member) = item else { continue }
            let needsComma = index != last || hasTrailingComma
            if needsComma != (member.comma != nil) { member.comma = needsComma ? CommentedFile.Token(",") : nil }
            items[index] = .member(member)
        }
    }
}

extension CommentedFile.Value {
    fileprivate mutating func change(to new: StoredValue) throws {
        guard storedValue != new else { return }
        if case .object(var object) = self, case .dictionary(let entries) = new {
            try object.change(to: entries)
            self = .object(object)
        } else {
            self = .other(try CommentedFile.tokens(of: new), new)
        }
    }
}

extension CommentedFile {
    /// The tokens of a value that the library writes.
    static func tokens(of value: StoredValue) throws -> [Token] {
        TextTokens(try JSONWriter.compactText(of: value)).tokens.map { Token($0) }
    }
}
