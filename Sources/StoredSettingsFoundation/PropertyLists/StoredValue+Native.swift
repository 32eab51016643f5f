// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

extension StoredValue {
    /// The part of this value that a property list of `UserDefaults` preserves.
    ///
    /// For most values this is the value itself. Anything that a property list would lose is removed, so that the value
    /// is the same before and after it has been on disk. `nil` if nothing can be preserved.
    var native: StoredValue? {
        switch self {
        case .null: .none
        case .bool, .data: self
        case .integer(let value): (Int128(Int64.min)...Int128(UInt64.max)).contains(value) ? self : .none
        case .double(let value): .double(PropertyListFile.preserved(value))
        case .string(let text): .string(PropertyListFile.preserved(text))
        case .date(let date): PropertyListFile.preserved(date).map { .date($0) }
        case .array(let values): Self.native(values)
        case .dictionary(let values): Self.native(values)
        }
    }

    /// An array without one of its elements would be a different array.
    private static func native(_ values: [StoredValue]) -> StoredValue? {
        let natives = values.compactMap(\.native)
        return natives.count == values.count ? .array(natives) : .none
    }

    /// A dictionary may omit an entry, which reads as `nil`.
    private static func native(_ values: [String: StoredValue]) -> StoredValue {
        var natives: [String: StoredValue] = [:]
        for (name, value) in values where PropertyListFile.isPreserved(name: name) {
            natives[name] = value.native
        }
        return .dictionary(natives)
    }
}

/// The precision of single values in a file of `UserDefaults`.
///
/// On Linux the file is XML. Foundation 6.3 loses fractions of seconds, the sign of zero, and a byte order mark at the
/// start of a string.
enum PropertyListFile {
    #if canImport(ObjectiveC)
    static func preserved(_ value: Double) -> Double { value }
    static func preserved(_ text: String) -> String { text }
    static func preserved(_ date: Date) -> Date? { date }
    static func isPreserved(name: String) -> Bool { true }
    #else
    static func preserved(_ value: Double) -> Double { value.isZero ? 0 : value }

    static func preserved(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.drop { $0 == byteOrderMark }))
    }

    static func preserved(_ date: Date) -> Date? {
        let seconds = date.timeIntervalSinceReferenceDate.rounded(.down)
        return years.contains(seconds) ? Date(timeIntervalSinceReferenceDate: PropertyListFile.preserved(seconds)) : nil
    }

    static func isPreserved(name: String) -> Bool { name.unicodeScalars.first != byteOrderMark }

    private static let byteOrderMark: Unicode.Scalar = "\u{FEFF}"
    /// The years 1 to 9999, in seconds since 2001.
    private static let years = -63_114_076_800.0..<252_455_616_000.0
    #endif
}
