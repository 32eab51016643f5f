// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import StoredSettings

/// Reads lists of objects that SwiftyUserDefaults has left in `UserDefaults` as one archive; writes them as this library does,
/// an archive for each.
///
/// ```swift
/// @DefaultStorage(key: "tints", suite: SettingsSuite(userDefaults: .standard), as: LegacyArchivedObjects())
/// var tints: [Colour] = []
/// ```
///
/// What this library has written is read as well, so each list changes its form with its first set.
public struct LegacyArchivedObjects<Element>: StoredValueBridge
where Element: NSSecureCoding & AnyObject & StoredValueConvertible {
    /// Creates the bridge.
    public init() {}

    /// Reads an archive of a list, or what this library has stored.
    public func value(from storedValue: StoredValue) throws -> [Element] {
        guard case .data(let data) = storedValue else { return try [Element](storedValue: storedValue) }
        let list = try KeyedArchive(data).object(of: [NSArray.self, Element.self]) { $0 is NSArray.Type }
        guard let objects = list as? NSArray else { throw KeyedArchive.damaged }
        return try objects.enumerated()
            .map { index, object in
                guard let element = object as? Element else {
                    throw SettingsError.invalidValue(
                        "the archive holds an object of another class than \(Element.self) at index \(index)"
                    )
                }
                return element
            }
    }

    /// What an array of the type gives.
    public func storedValue(from value: [Element]) throws -> StoredValue {
        try value.storedValue()
    }
}
