// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/UserDefaults.md, "Exact values are stored beside native ones".

import Foundation
import StoredSettings

/// The exact values of a suite that a property list cannot hold.
///
/// They are stored together under one key of the same property list, as JSON in which dictionaries and values without a
/// JSON form are tagged. Each setting also has its native form under its own key, if there is one, which other code
/// reads. The exact value is used while its native form is still stored, and ignored after other code has assigned
/// another value.
struct ExactForms: Equatable {
    /// The reserved key of the exact values.
    ///
    /// No setting can use it.
    static let key = "StoredSettings.exact"

    private(set) var values: [String: StoredValue] = [:]

    init() {}

    /// Reads the value stored under ``key``.
    ///
    /// An unreadable value counts as empty, so that the native forms are used.
    init(propertyList: StoredValue?) {
        guard case .data(let data)? = propertyList else { return }
        do {
            values = try JSONReader.readObject([UInt8](data)).compactMapValues(Self.untagged)
        } catch {
            // Other code has overwritten the value, so only the native forms are available.
            values = [:]
        }
    }

    /// The value to store under ``key``.
    ///
    /// - Throws: `SettingsError` for values that are nested too deeply.
    func propertyList() throws -> StoredValue? {
        guard !values.isEmpty else { return nil }
        do {
            return .data(Data(try JSONWriter.compactText(of: .dictionary(values.mapValues(Self.tagged)))))
        } catch {
            throw SettingsError.unstorable("the value is nested too deeply to be stored exactly in UserDefaults")
        }
    }

    /// The native form of a value of a key.
    static func native(of value: StoredValue?, forKey key: String) -> StoredValue? {
        PropertyListFile.isPreserved(name: key) ? value?.native : nil
    }

    /// Records a stored value if its native form is not exact.
    mutating func record(_ value: StoredValue?, forKey key: String) {
        values[key] = Self.native(of: value, forKey: key) == value ? nil : value
    }

    /// All values, given the native ones.
    func resolved(_ natives: [String: StoredValue]) -> [String: StoredValue] {
        var result = natives
        result[Self.key] = nil
        for (key, value) in values where Self.native(of: value, forKey: key) == natives[key] {
            result[key] = value
        }
        return result
    }
}

// MARK: - Tags

extension ExactForms {
    private enum Tag {
        static let dictionary = "dictionary"
        static let date = "date"
        static let data = "data"
        static let double = "double"
        static let integer = "integer"
    }

    private static func tagged(_ value: StoredValue) -> StoredValue {
        switch value {
        case .null, .bool, .string: value
        case .integer(let number): Int64(exactly: number) == nil ? [Tag.integer: .string("\(number)")] : value
        case .double(let number): number.isFinite ? value : [Tag.double: .string("\(number)")]
        case .date(let date): [Tag.date: .string("\(date.timeIntervalSinceReferenceDate)")]
        case .data(let data): [Tag.data: .string(data.base64EncodedString())]
        case .array(let values): .array(values.map(tagged))
        case .dictionary(let values): [Tag.dictionary: .dictionary(values.mapValues(tagged))]
        }
    }

    private static func untagged(_ value: StoredValue) -> StoredValue? {
        switch value {
        case .null, .bool, .integer, .double, .string, .date, .data:
            return value
        case .array(let values):
            let elements = values.compactMap(untagged)
            return elements.count == values.count ? .array(elements) : .none
        case .dictionary(let entries):
            guard entries.count == 1, let (tag, content) = entries.first else { return nil }
            return untagged(content, tag)
        }
    }

    private static func untagged(_ content: StoredValue, _ tag: String) -> StoredValue? {
        switch (tag, content) {
        case (Tag.double, .string(let text)): return Double(text).map { .double($0) }
        case (Tag.integer, .string(let text)): return Int128(text).map { .integer($0) }
        case (Tag.date, .string(let text)):
            return Double(text).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
        case (Tag.data, .string(let text)): return Data(base64Encoded: text).map { .data($0) }
        case (Tag.dictionary, .dictionary(let entries)):
            let values = entries.compactMapValues(untagged)
            return values.count == entries.count ? .dictionary(values) : .none
        default: return nil
        }
    }
}
