// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import StoredSettings

/// Reads arrays of objects that SwiftyUserDefaults stored as one archive.
///
/// New values are written in the format of this library, with one archive per object.
///
/// ```swift
/// @DefaultStorage(key: "tints", suite: SettingsSuite(userDefaults: .standard), as: LegacyArchivedObjects())
/// var tints: [Color] = []
/// ```
///
/// The bridge also reads values that this library stored, so each array changes its format with its first set.
public struct LegacyArchivedObjects<Element>: StoredValueBridge
where Element: NSSecureCoding & AnyObject & StoredValueConvertible {
    /// Creates the bridge.
    public init() {}

    /// Reads an archive of an array, or a value that this library stored.
    public func value(from storedValue: StoredValue) throws -> [Element] {
        guard case .data(let data) = storedValue else { return try [Element](storedValue: storedValue) }
        let list = try KeyedArchive(data).object(of: [NSArray.self, Element.self]) { $0 is NSArray.Type }
        guard let objects = list as? NSArray else { throw KeyedArchive.damaged }
        return try objects.enumerated()
            .map { index, object in
                guard let element = object as? Element else {
                    throw SettingsError.invalidValue(
                        "the archive holds an object at index \(index) that is not of class \(Element.self)"
                    )
                }
                return element
            }
    }

    /// Returns the stored value of the array itself.
    public func storedValue(from value: [Element]) throws -> StoredValue {
        try value.storedValue()
    }
}
