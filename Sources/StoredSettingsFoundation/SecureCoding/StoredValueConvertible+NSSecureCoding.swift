// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import StoredSettings

extension StoredValueConvertible where Self: AnyObject & NSSecureCoding {
    /// Reads an archive of an object of this class.
    ///
    /// ```swift
    /// final class Colour: NSObject, NSSecureCoding, StoredValueConvertible { … }
    /// ```
    ///
    /// Declaring the conformance is all that the class needs. Bytes that are no archive, or one of another class, or of a
    /// class that is gone, are an error.
    public init(storedValue: StoredValue) throws {
        try self.init(made: SecureArchive<Self>().value(from: storedValue))
    }

    /// An archive of the object, as `StoredValue.data(_:)`.
    public func storedValue() throws -> StoredValue {
        try SecureArchive<Self>().storedValue(from: self)
    }
}

// MARK: - Types that are both

extension StoredValueConvertible where Self: AnyObject & NSSecureCoding & Codable {
    /// Reads the structure that a `StoredValueEncoder` gives.
    ///
    /// A class that is `Codable` as well is stored as its structure, which people can read. ``SecureArchive`` chooses
    /// otherwise.
    public init(storedValue: StoredValue) throws {
        try self.init(made: StoredValueDecoder().decode(Self.self, from: storedValue))
    }

    /// What a `StoredValueEncoder` gives.
    public func storedValue() throws -> StoredValue {
        try StoredValueEncoder().encode(self)
    }
}

extension StoredValueConvertible {
    /// A value that is made already.
    ///
    /// Here, since an initialiser of a class alone cannot become another object.
    fileprivate init(made value: Self) {
        self = value
    }
}
