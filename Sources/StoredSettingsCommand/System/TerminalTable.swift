// SPDX-License-Identifier: Apache-2.0

package import StoredSettings

/// A table with aligned columns.
struct TerminalTable {
    let header: [String]
    var rows: [[String]] = []
    /// The indexes of the rows that matter less.
    var faint: Set<Int> = []

    /// Returns the lines of the table.
    ///
    /// - Parameters:
    ///   - columns: The number of columns that a line may have; `nil` for any number.
    ///   - isColored: Whether the header is bold, and the rows that matter less are faint.
    /// - Returns: The lines, without line feeds.
    func lines(columns: Int?, isColored: Bool) -> [String] {
        let cells = ([header] + rows).map { $0.map(TerminalText.escaped) }
        let widths = header.indices.map { column in cells.map { TerminalText.width(of: $0[column]) }.max() ?? 0 }
        return cells.enumerated()
            .map { row, cells in
                var line = zip(cells, widths).map { TerminalText.padded($0, to: $1) }.joined(separator: "  ")
                while line.last == " " { line.removeLast() }
                if let columns { line = TerminalText.cut(line, to: columns) }
                guard isColored else { return line }
                if row == 0 { return "\u{1B}[1m\(line)\u{1B}[0m" }
                return faint.contains(row - 1) ? "\u{1B}[2m\(line)\u{1B}[0m" : line
            }
    }
}

extension TerminalText {
    /// Returns JSON whose strings contain no characters that control a terminal.
    ///
    /// - Parameter json: Valid JSON. Outside of strings, the only control character is the line feed.
    /// - Returns: The JSON with more escapes.
    static func escapedJSON(_ json: String) -> String {
        json.unicodeScalars.reduce(into: "") { text, scalar in
            guard scalar != "\n", isControl(scalar) else { return text.unicodeScalars.append(scalar) }
            for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
    }

    /// The number of columns that a string takes on a terminal.
    static func width(of text: String) -> Int {
        text.utf8.allSatisfy { $0 < 0x80 } ? text.utf8.count : text.reduce(0) { $0 + width(of: $1) }
    }

    private static func width(of character: Character) -> Int {
        character.unicodeScalars
            .map { scalar in
                if wide.contains(where: { $0.contains(scalar.value) }) || scalar.properties.isEmojiPresentation {
                    return 2
                }
                return switch scalar.properties.generalCategory {
                case .nonspacingMark, .enclosingMark, .format, .control: 0
                default: 1
                }
            }
            .max() ?? 0
    }

    /// The characters that take two columns: those of East Asian scripts, and symbols.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
        0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD,
    ]

    /// Returns the beginning of a string that takes at most a number of columns, with `…` if something is missing.
    static func cut(_ text: String, to columns: Int) -> String {
        guard width(of: text) > columns else { return text }
        guard columns > 0 else { return "" }
        var (result, rest) = ("", columns - 1)
        for character in text {
            rest -= width(of: character)
            guard rest >= 0 else { break }
            result.append(character)
        }
        return result + "…"
    }

    /// Returns a string with spaces after it, so that it takes a number of columns.
    package static func padded(_ text: String, to columns: Int) -> String {
        text + String(repeating: " ", count: max(columns - width(of: text), 0))
    }
}
