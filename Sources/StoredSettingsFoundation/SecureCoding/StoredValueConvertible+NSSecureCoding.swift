// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import StoredSettings

extension StoredValueConvertible where Self: AnyObject & NSSecureCoding {
    /// Reads an archive of an object of this class.
    ///
    /// ```swift
    /// final class Color: NSObject, NSSecureCoding, StoredValueConvertible {
    ///     static let supportsSecureCoding = true
    ///     let name: String
    ///
    ///     init(name: String) { self.name = name }
    ///
    ///     init?(coder: NSCoder) {
    ///         guard let name = coder.decodeObject(of: NSString.self, forKey: "name") else { return nil }
    ///         self.name = name as String
    ///     }
    ///
    ///     func encode(with coder: NSCoder) { coder.encode(name as NSString, forKey: "name") }
    /// }
    /// ```
    ///
    /// The class only has to declare the conformance. Bytes that are not an archive, or that hold another class or one
    /// that the program lacks, are an error.
    public init(storedValue: StoredValue) throws {
        try self.init(value: SecureArchive<Self>().value(from: storedValue))
    }

    /// Returns an archive of the object as `StoredValue.data(_:)`.
    public func storedValue() throws -> StoredValue {
        try SecureArchive<Self>().storedValue(from: self)
    }
}

// MARK: - Codable classes

extension StoredValueConvertible where Self: AnyObject & NSSecureCoding & Codable {
    /// Reads the structure that `StoredValueEncoder` produces.
    ///
    /// A class that is also `Codable` is stored as this readable structure. Use ``SecureArchive`` to store an archive
    /// instead.
    public init(storedValue: StoredValue) throws {
        try self.init(value: StoredValueDecoder().decode(Self.self, from: storedValue))
    }

    /// Returns the structure that `StoredValueEncoder` produces.
    public func storedValue() throws -> StoredValue {
        try StoredValueEncoder().encode(self)
    }
}

extension StoredValueConvertible {
    /// Creates a copy of a reference to an existing object.
    ///
    /// This initializer is in the protocol extension because a class initializer cannot return another object.
    fileprivate init(value: Self) {
        self = value
    }
}
