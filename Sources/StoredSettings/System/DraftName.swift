// SPDX-License-Identifier: Apache-2.0

/// Names of files and directories that are going to have another name, such as `.settings.json.0123abcd.new`.
package enum DraftName {
    private static let digits = 8
    private static let suffix = ".new"

    /// A name that very probably no file has.
    static func random(for name: FilePath) -> FilePath {
        FilePath(bytes: prefix(for: name) + hexadecimal(UInt32.random(in: 0 ... .max), digits).utf8 + suffix.utf8)
    }

    /// Whether a name is that of a draft of a file.
    package static func isDraft(_ draft: FilePath, of name: FilePath) -> Bool {
        let (start, bytes) = (prefix(for: name), draft.bytes)
        guard bytes.count == start.count + digits + suffix.utf8.count, bytes.starts(with: start) else { return false }
        return bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
            && bytes[start.count..<start.count + digits].allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }

    /// What the drafts of a file begin with: its name, or a hash of a name that is too long for that.
    private static func prefix(for name: FilePath) -> [UInt8] {
        let prefix: [UInt8] = ".".utf8 + name.bytes + ".".utf8
        guard prefix.count + digits + suffix.utf8.count > FilePath.longestName else { return prefix }
        // FNV-1a.
        let hash = name.bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return Array(".\(hexadecimal(hash, 16)).".utf8)
    }

    private static func hexadecimal(_ number: some BinaryInteger, _ digits: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
    }
}
