// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import TestSupport

extension SeededGenerator {
    /// A random value that JSON represents exactly: no date, data, infinity or NaN.
    mutating func storedValue(depth: Int) -> StoredValue {
        switch Int.random(in: 0..<(depth > 0 ? 9 : 6), using: &self) {
        case 0: .null
        case 1: .bool(Bool.random(using: &self))
        case 2: .integer(Int128.random(in: .min ... .max, using: &self) >> Int128.random(in: 0..<128, using: &self))
        case 3: .double(finiteDouble())
        case 4, 5: .string(string())
        case 6: .array((0..<Int.random(in: 0..<5, using: &self)).map { _ in storedValue(depth: depth - 1) })
        default: .dictionary(entries(depth: depth - 1))
        }
    }

    mutating func entries(depth: Int) -> [String: StoredValue] {
        var entries: [String: StoredValue] = [:]
        for _ in 0..<Int.random(in: 0..<6, using: &self) { entries[string()] = storedValue(depth: depth) }
        return entries
    }

    private mutating func finiteDouble() -> Double {
        let double = Double(bitPattern: next())
        return Bool.random(using: &self) || !double.isFinite
            ? Double(Int32.random(in: -99...99, using: &self)) / 8 : double
    }

    private mutating func string() -> String {
        let special: [Unicode.Scalar] = [
            "\"", "\\", "/", "\0", "\n", "\r", "\t", "\u{8}", "\u{c}", "\u{1f}", "\u{7f}", "\u{80}", "\u{301}",
            "\u{e9}",
            "\u{2028}", "\u{2029}", "\u{d7ff}", "\u{e000}", "\u{feff}", "\u{ffff}", "\u{10000}", "\u{1f600}",
            "\u{10ffff}",
        ]
        var string = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0..<24, using: &self) {
            if Int.random(in: 0..<4, using: &self) == 0, let scalar = special.randomElement(using: &self) {
                string.append(scalar)
            } else {
                string.append(Unicode.Scalar(UInt8.random(in: 0x20..<0x7F, using: &self)))
            }
        }
        return String(string)
    }
}
