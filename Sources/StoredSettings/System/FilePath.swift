// SPDX-License-Identifier: Apache-2.0

/// A file path as the system represents it: bytes, which need not be valid UTF-8.
///
/// Two paths are equal when their bytes are equal. Strings that Swift considers equal, such as two spellings of "é",
/// name different files on most file systems.
package struct FilePath: Hashable, Sendable {
    /// The bytes, terminated by a NUL for system calls.
    private let storage: [CChar]
    /// Whether the path is valid for a system call: not empty, and without a NUL, which would truncate it.
    package let isValid: Bool

    package init(bytes: some Sequence<UInt8>) {
        self.init(storage: bytes.map(CChar.init(bitPattern:))[...])
    }

    package init(_ string: String) {
        self.init(bytes: string.utf8)
    }

    /// Creates a path from a copy of a C string.
    package init(cString: UnsafePointer<CChar>) {
        var count = 0
        // The loop stops at the NUL that ends the string.
        while cString[count] != 0 { count += 1 }
        self.init(storage: Array(UnsafeBufferPointer(start: cString, count: count))[...])
    }

    private init(storage: ArraySlice<CChar>) {
        self.storage = Array(storage) + [0]
        isValid = !storage.isEmpty && !storage.contains(0)
    }

    private var characters: ArraySlice<CChar> { storage.dropLast() }

    package var bytes: [UInt8] { characters.map(UInt8.init(bitPattern:)) }

    package var isEmpty: Bool { storage.count == 1 }

    package var isAbsolute: Bool { storage[0] == Self.slash }

    /// Calls a closure with the path as a C string, which is valid only during the call.
    package func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        body(storage)
    }
}

// MARK: - Components

extension FilePath {
    private static let slash = CChar(bitPattern: UInt8(ascii: "/"))

    /// The directory of the last component; "." for a path of one component.
    package var directory: FilePath {
        guard let end = characters.lastIndex(of: Self.slash) else { return "." }
        return end == 0 ? "/" : FilePath(storage: characters[..<end])
    }

    /// The components between the slashes.
    package var components: [FilePath] { characters.split(separator: Self.slash).map { FilePath(storage: $0) } }

    /// The longest name that file systems support, in bytes.
    static let longestName = 255

    /// The number of links after which a path counts as circular, as on Linux.
    package static let mostLinks = 40

    /// The last component.
    package var name: FilePath {
        characters.lastIndex(of: Self.slash).map { FilePath(storage: characters[($0 + 1)...]) } ?? self
    }

    /// Whether the last component can be the name of a file.
    package var namesFile: Bool { !["", ".", ".."].contains(name) }

    /// Returns the path of a component in this directory; an absolute path is returned unchanged.
    package func appending(_ component: FilePath) -> FilePath {
        guard !isEmpty, !component.isAbsolute else { return component }
        guard component != "." else { return self }
        let separator = characters.last == Self.slash ? [] : [Self.slash]
        return FilePath(storage: characters + separator + component.characters)
    }

    /// Returns the path with a suffix added to the name.
    package func adding(_ suffix: String) -> FilePath {
        FilePath(bytes: bytes + suffix.utf8)
    }

    /// Returns the path without a suffix of the name; `nil` when the path does not end with the suffix.
    package func removing(_ suffix: String) -> FilePath? {
        let (bytes, suffix) = (bytes, Array(suffix.utf8))
        guard bytes.count > suffix.count, bytes.suffix(suffix.count).elementsEqual(suffix) else { return nil }
        return FilePath(bytes: bytes.dropLast(suffix.count))
    }

    /// The path without trailing slashes, except for the root directory.
    package var withoutTrailingSlashes: FilePath {
        FilePath(storage: characters.prefix((characters.lastIndex { $0 != Self.slash } ?? 0) + 1))
    }
}

// MARK: - Drafts

// Names of files and directories that are going to have another name, such as `.settings.json.0123abcd.new`.

extension FilePath {
    private static let draftDigits = 8
    private static let draftSuffix = ".new"

    /// Returns a name for a draft of the file with this name, which very probably no file has.
    func randomDraft() -> FilePath {
        let number = UInt32.random(in: 0 ... .max).digits(Self.draftDigits, radix: 16)
        return FilePath(bytes: draftPrefix + number.utf8 + Self.draftSuffix.utf8)
    }

    /// Whether this is the name of a draft of a file.
    package func isDraft(of name: FilePath) -> Bool {
        let (start, bytes, suffix) = (name.draftPrefix, bytes, Self.draftSuffix.utf8)
        let count = start.count + Self.draftDigits + suffix.count
        guard bytes.count == count, bytes.starts(with: start) else { return false }
        return bytes.suffix(suffix.count).elementsEqual(suffix)
            && bytes[start.count..<start.count + Self.draftDigits].allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }

    /// What the drafts of the file begin with: its name, or a hash of a name that is too long for that.
    private var draftPrefix: [UInt8] {
        let prefix: [UInt8] = ".".utf8 + bytes + ".".utf8
        guard prefix.count + Self.draftDigits + Self.draftSuffix.utf8.count > Self.longestName else {
            return prefix
        }
        // FNV-1a.
        let hash = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return Array(".\(hash.digits(16, radix: 16)).".utf8)
    }
}

extension FilePath: ExpressibleByStringLiteral {
    package init(stringLiteral path: String) {
        self.init(path)
    }
}

extension FilePath: CustomStringConvertible {
    /// The path for messages, with replacement characters for bytes that are not valid UTF-8.
    package var description: String { String(decoding: bytes, as: UTF8.self) }
}
