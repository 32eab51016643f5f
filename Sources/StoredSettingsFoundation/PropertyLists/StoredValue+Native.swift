// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

extension StoredValue {
    /// What the property list that `UserDefaults` writes can hold of this value, and gives back as it was.
    ///
    /// Mostly that is the value itself. What is lost there is left out here already, so that the value that is read is the
    /// same before and after it has been on the disk. `nil` when there is nothing to be held.
    var native: StoredValue? {
        switch self {
        case .null: .none
        case .bool, .data: self
        case .integer(let value): (Int128(Int64.min)...Int128(UInt64.max)).contains(value) ? self : .none
        case .double(let value): .double(PropertyListFile.kept(value))
        case .string(let text): .string(PropertyListFile.kept(text))
        case .date(let date): PropertyListFile.kept(date).map { .date($0) }
        case .array(let values): Self.native(values)
        case .dictionary(let values): Self.native(values)
        }
    }

    /// An array without one of its elements would be another array.
    private static func native(_ values: [StoredValue]) -> StoredValue? {
        let natives = values.compactMap(\.native)
        return natives.count == values.count ? .array(natives) : .none
    }

    /// A dictionary may do without an entry: who misses it takes it for `nil`.
    private static func native(_ values: [String: StoredValue]) -> StoredValue {
        var natives: [String: StoredValue] = [:]
        for (name, value) in values where PropertyListFile.isKept(name: name) {
            natives[name] = value.native
        }
        return .dictionary(natives)
    }
}

/// What a file of `UserDefaults` keeps of single values.
///
/// On Linux the file is XML, written and read by Foundation 6.3: it loses fractions of seconds, the sign of zero, and a byte
/// order mark at the beginning of a text.
enum PropertyListFile {
    #if canImport(ObjectiveC)
    static func kept(_ value: Double) -> Double { value }
    static func kept(_ text: String) -> String { text }
    static func kept(_ date: Date) -> Date? { date }
    static func isKept(name: String) -> Bool { true }
    #else
    static func kept(_ value: Double) -> Double { value.isZero ? 0 : value }

    static func kept(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.drop { $0 == byteOrderMark }))
    }

    static func kept(_ date: Date) -> Date? {
        let seconds = date.timeIntervalSinceReferenceDate.rounded(.down)
        return years.contains(seconds) ? Date(timeIntervalSinceReferenceDate: PropertyListFile.kept(seconds)) : nil
    }

    static func isKept(name: String) -> Bool { name.unicodeScalars.first != byteOrderMark }

    private static let byteOrderMark: Unicode.Scalar = "\u{FEFF}"
    /// The years 1 to 9999, in seconds since 2001.
    private static let years = -63_114_076_800.0..<252_455_616_000.0
    #endif
}
