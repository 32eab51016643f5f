// SPDX-License-Identifier: Apache-2.0

/// Strings as a terminal shows them.
package enum TerminalText {
    /// Returns a string without characters that control a terminal, end a line or change the direction of the text.
    ///
    /// So a value cannot imitate other output.
    package static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        return text.unicodeScalars.reduce(into: "") { text, scalar in
            text += isControl(scalar) ? scalar.escaped(asASCII: true) : String(scalar)
        }
    }

    /// Whether a character controls a terminal, ends a line or changes the direction of the text.
    package static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value >= 0x20 else { return true }
        guard scalar.value >= 0x7F else { return false }
        return switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        // The zero-width joiner is part of emoji.
        case .format: scalar != "\u{200D}"
        default: false
        }
    }
}
