// SPDX-License-Identifier: Apache-2.0

/// The path of a file as the system has it: bytes, which need not be UTF-8.
///
/// Two paths are equal when their bytes are. Strings that Swift considers equal, such as two spellings of "é", name
/// different files on most file systems.
package struct FilePath: Hashable, Sendable {
    /// The bytes with a NUL behind them, as system calls take them.
    private let storage: [CChar]
    /// Whether a system call can take the path: a NUL would end it early, at another file.
    package let isPossible: Bool

    package init(bytes: some Sequence<UInt8>) {
        self.init(storage: bytes.map(CChar.init(bitPattern:))[...])
    }

    package init(_ string: String) {
        self.init(bytes: string.utf8)
    }

    /// Copies the string at a pointer, up to its NUL.
    package init(cString: UnsafePointer<CChar>) {
        var count = 0
        // The string ends with a NUL, which this loop does not pass.
        while cString[count] != 0 { count += 1 }
        self.init(storage: Array(UnsafeBufferPointer(start: cString, count: count))[...])
    }

    private init(storage: ArraySlice<CChar>) {
        self.storage = Array(storage) + [0]
        isPossible = !storage.isEmpty && !storage.contains(0)
    }

    private var characters: ArraySlice<CChar> { storage.dropLast() }

    package var bytes: [UInt8] { characters.map(UInt8.init(bitPattern:)) }

    package var isEmpty: Bool { storage.count == 1 }

    package var isAbsolute: Bool { storage[0] == Self.slash }

    /// Calls a body with the path as system calls take it.
    ///
    /// The pointer is valid for the call alone.
    package func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        body(storage)
    }
}

// MARK: - Components

extension FilePath {
    private static let slash = CChar(bitPattern: UInt8(ascii: "/"))

    /// The directory that the last component lies in: "." for a path of one component.
    package var directory: FilePath {
        guard let end = characters.lastIndex(of: Self.slash) else { return "." }
        return end == 0 ? "/" : FilePath(storage: characters[..<end])
    }

    /// The last component.
    package var name: FilePath {
        characters.lastIndex(of: Self.slash).map { FilePath(storage: characters[($0 + 1)...]) } ?? self
    }

    /// The component that follows a directory which the path leads through; `nil` when it does not.
    package func component(in directory: FilePath) -> FilePath? {
        guard self.directory != directory else { return name }
        let prefix = directory == "/" ? directory.characters : directory.characters + [Self.slash]
        guard characters.starts(with: prefix) else { return nil }
        return FilePath(storage: characters.dropFirst(prefix.count).prefix { $0 != Self.slash })
    }

    /// Whether the last component can be the name of a file.
    package var namesFile: Bool { !["", ".", ".."].contains(name) }

    /// The path of something in this directory; an absolute path stays as it is.
    package func appending(_ component: FilePath) -> FilePath {
        guard !isEmpty, !component.isAbsolute else { return component }
        guard component != "." else { return self }
        let separator = characters.last == Self.slash ? [] : [Self.slash]
        return FilePath(storage: characters + separator + component.characters)
    }

    /// The path with a longer name.
    package func adding(_ suffix: String) -> FilePath {
        FilePath(bytes: bytes + suffix.utf8)
    }

    /// The path with a shorter name; `nil` when it does not end like this.
    package func removing(_ suffix: String) -> FilePath? {
        let (bytes, suffix) = (bytes, Array(suffix.utf8))
        guard bytes.count > suffix.count, bytes.suffix(suffix.count).elementsEqual(suffix) else { return nil }
        return FilePath(bytes: bytes.dropLast(suffix.count))
    }

    /// The path without slashes at its end, unless it is that of the root directory.
    package var withoutTrailingSlashes: FilePath {
        FilePath(storage: characters.prefix((characters.lastIndex { $0 != Self.slash } ?? 0) + 1))
    }
}

extension FilePath: ExpressibleByStringLiteral {
    package init(stringLiteral path: String) {
        self.init(path)
    }
}

extension FilePath: CustomStringConvertible {
    /// The path for messages, in which bytes that are not UTF-8 are replaced.
    package var description: String { String(decoding: bytes, as: UTF8.self) }
}
