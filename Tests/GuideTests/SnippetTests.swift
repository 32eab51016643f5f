// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import TestSupport
import Testing

/// Checks that the code in the guides equals the code that is compiled here.
@Suite("The code in the guides")
struct SnippetTests {
    /// A guide and the rows of Documentation/Parity.md that apply to its library.
    struct Guide: CustomTestStringConvertible, Sendable {
        var library: String
        var rows: [Int]

        var testDescription: String { library }
    }

    static let guides = [
        Guide(library: "Foil", rows: [1, 2, 4, 10, 11, 14, 15, 16, 17, 20, 27, 28, 32, 36, 40, 41]),
        Guide(
            library: "Defaults",
            rows: [
                2, 5, 6, 7, 9, 10, 11, 14, 15, 16, 17, 18, 19, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 35, 37,
                38, 40, 41, 43, 44,
            ]
        ),
        Guide(
            library: "SwiftyUserDefaults",
            rows: [
                1, 2, 5, 6, 7, 8, 10, 14, 15, 16, 17, 19, 22, 25, 28, 29, 34, 36, 37, 38, 39, 40, 41, 42,
            ]
        ),
        Guide(
            library: "UserDefault",
            rows: [1, 2, 3, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 23, 35, 37, 40, 41]
        ),
        Guide(library: "UserDefaults", rows: [1, 2, 14, 15, 17, 19, 28, 37, 38, 39, 40, 41, 42]),
    ]

    @Test("the guide has every row of its library, once and in order", arguments: guides)
    func rows(_ guide: Guide) throws {
        #expect(try Page(guide.library).rows.map(\.number) == guide.rows)
    }

    @Test("the new code of a row is part of the compiled snippets of that row", arguments: guides)
    func cells(_ guide: Guide) throws {
        let snippets = try Snippet.all(of: guide.library)
        for row in try Page(guide.library).rows {
            #expect(!row.code.isEmpty, "row \(row.number) has no new code")
            let own = snippets.filter { $0.isOf(row: row.number) }
            for code in row.code {
                #expect(own.contains { $0.text.contains(code) }, "row \(row.number): \(code)")
            }
        }
    }

    @Test("each block of Swift is one whole compiled snippet", arguments: guides)
    func blocks(_ guide: Guide) throws {
        let snippets = try Snippet.all(of: guide.library)
        let blocks = try Page(guide.library).blocks
        #expect(!blocks.isEmpty)
        for block in blocks {
            #expect(snippets.contains { $0.text == block }, "\(block)")
        }
    }

    @Test("the guide shows every compiled snippet", arguments: guides)
    func unused(_ guide: Guide) throws {
        let page = try Page(guide.library)
        for snippet in try Snippet.all(of: guide.library) {
            let isShown = page.rows.contains { row in
                snippet.isOf(row: row.number) && row.code.contains { snippet.text.contains($0) }
            }
            #expect(isShown || page.blocks.contains(snippet.text), "\(snippet.name)")
        }
    }
}

/// The lines between `// snippet: name` and `// end`.
private struct Snippet {
    var name: String
    var text: String

    func isOf(row: Int) -> Bool {
        name == "row-\(row)" || name.hasPrefix("row-\(row)-")
    }

    static func all(of library: String) throws -> [Snippet] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("\(library)Guide.swift")
        var snippets: [Snippet] = []
        var open: (name: String, lines: [Substring])?
        for line in try file.path.fileContents.split(separator: "\n", omittingEmptySubsequences: false) {
            let words = line.split(separator: " ")
            if words.starts(with: ["//", "snippet:"]) {
                try #require(open == nil, "a snippet starts in another: \(line)")
                open = (String(words[2]), [])
            } else if words == ["//", "end"] {
                let (name, lines) = try #require(open)
                snippets.append(Snippet(name: name, text: lines.withoutIndentation))
                open = nil
            } else {
                open?.lines.append(line)
            }
        }
        try #require(open == nil, "a snippet has no end")
        return snippets
    }
}

/// A parsed guide: the rows of its tables, and its blocks of Swift.
private struct Page {
    struct Row {
        var number: Int
        /// The pieces of code in the last column.
        var code: [String]
    }

    private(set) var rows: [Row] = []
    private(set) var blocks: [String] = []

    init(_ library: String) throws {
        var file = URL(fileURLWithPath: #filePath)
        for _ in 1...3 { file.deleteLastPathComponent() }
        file.appendPathComponent("Documentation/ComingFrom\(library).md")
        var block: [Substring]?
        for line in try file.path.fileContents.split(separator: "\n", omittingEmptySubsequences: false) {
            if let lines = block {
                block = line == "```" ? nil : lines + [line]
                if block == nil { blocks.append(lines.withoutIndentation) }
            } else if line == "```swift" {
                block = []
            } else if let row = Row(line) {
                rows.append(row)
            }
        }
        try #require(block == nil, "a block of code has no end")
    }
}

extension Page.Row {
    /// `nil` for a line that is not a numbered table row.
    init?(_ line: Substring) {
        let cells = line.components(separatedBy: " | ")
        guard cells.count == 4, cells[0].hasPrefix("| "), let number = Int(cells[0].dropFirst(2)) else { return nil }
        let parts = cells[3].components(separatedBy: "`")
        let code = parts.indices.filter { !$0.isMultiple(of: 2) }.map { parts[$0] }
        self.init(number: number, code: code)
    }
}

extension [Substring] {
    /// The lines without their common indentation.
    fileprivate var withoutIndentation: String {
        let indented = filter { !$0.isEmpty }
        let indentation = indented.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        return map { String($0.dropFirst(indentation)) }.joined(separator: "\n")
    }
}

/// The guides' promise for an unreadable value: nothing is copied, and the error names the key.
func expectFailedMigration(
    of key: String,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ migrate: (SettingsSuite) throws -> Void
) {
    let suite = SettingsSuite.inMemory()
    let error = #expect(throws: SettingsError.self, sourceLocation: sourceLocation) { try migrate(suite) }
    #expect(error?.key == key, sourceLocation: sourceLocation)
    #expect(suite.keys.isEmpty, sourceLocation: sourceLocation)
}
