// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import StoredSettings

/// Stores objects as archives: for classes that one does not own, or that are `Codable` as well.
///
/// ```swift
/// @DefaultStorage(key: "tint", as: SecureArchive()) var tint = NSColor.controlAccentColor
/// ```
///
/// It reads what Defaults and SwiftyUserDefaults have archived, too. An archive is looked through before it is decoded: on
/// Linux as elsewhere, one of another class, of a class that the program has not got or that is not securely coded, and one
/// that is damaged, is an error. Equal objects are stored as equal bytes, if they encode equal parts.
///
/// On Linux Foundation can archive only classes at the top level of a module that are neither private nor generic. Another
/// class is refused with `SettingsError.Code.unstorable`, also as a part of an object.
public struct SecureArchive<Value: NSSecureCoding & AnyObject & Sendable>: StoredValueBridge {
    /// Creates the bridge.
    public init() {}

    /// Reads an archive.
    public func value(from storedValue: StoredValue) throws -> Value {
        let object = try KeyedArchive(Data(storedValue: storedValue)).object(of: [Value.self]) { $0 is Value.Type }
        guard let value = object as? Value else {
            throw SettingsError.invalidValue("the archive holds an object of another class than \(Value.self)")
        }
        return value
    }

    /// An archive of the object in one order, as `StoredValue.data(_:)`.
    public func storedValue(from value: Value) throws -> StoredValue {
        .data(CanonicalArchive.bytes(of: try archived(value)))
    }

    private func archived(_ value: Value) throws -> Data {
        #if canImport(ObjectiveC)
        do {
            return try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: true)
        } catch {
            throw SettingsError.unstorable("the object of class \(Value.self) cannot be archived", underlying: error)
        }
        #else
        let (archiver, guarding) = (NSKeyedArchiver(requiringSecureCoding: false), ArchiveGuard())
        // The archiver does not hold its delegate, which requires secure coding in its place.
        return try withExtendedLifetime(guarding) {
            archiver.delegate = guarding
            archiver.encode(value, forKey: NSKeyedArchiveRootObjectKey)
            archiver.finishEncoding()
            if let failure = guarding.failure { throw failure }
            return archiver.encodedData
        }
        #endif
    }
}
