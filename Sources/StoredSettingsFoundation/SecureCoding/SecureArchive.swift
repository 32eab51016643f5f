// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import StoredSettings

/// Stores objects as archives, for classes of other modules and for classes that are also `Codable`.
///
/// ```swift
/// @DefaultStorage(key: "tint", as: SecureArchive()) var tint = Tint.accent
/// ```
///
/// The bridge also reads the archives of Defaults and SwiftyUserDefaults. It checks an archive before it decodes it. On
/// every platform, an archive is an error if it is damaged or holds another class, a class that the program lacks, or a
/// class without secure coding. Equal objects are stored as equal bytes if they encode equal parts.
///
/// On Linux, Foundation can only archive classes at the top level of a module that are neither private nor generic.
/// Storing an object with a part of any other class fails with `SettingsError.Code.unstorable`.
public struct SecureArchive<Value: NSSecureCoding & AnyObject & Sendable>: StoredValueBridge {
    /// Creates the bridge.
    public init() {}

    /// Reads an archive.
    public func value(from storedValue: StoredValue) throws -> Value {
        let object = try KeyedArchive(Data(storedValue: storedValue)).object(of: [Value.self]) { $0 is Value.Type }
        guard let value = object as? Value else {
            throw SettingsError.invalidValue("the archive holds an object that is not of class \(Value.self)")
        }
        return value
    }

    /// Returns a canonical archive of the object as `StoredValue.data(_:)`.
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
        // The archiver does not retain its delegate, which checks secure coding in its place.
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
