// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A type with raw values.
public enum LogLevel: String, StoredValueConvertible, CaseIterable {
    case debug, info, warning, error
}

/// A type with raw values that is a structure.
public struct Port: RawRepresentable, StoredValueConvertible, Hashable {
    /// The number.
    public var rawValue: UInt16

    /// Takes any number.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }
}

/// A type that is an option set.
public struct Features: OptionSet, StoredValueConvertible {
    /// The bits.
    public let rawValue: Int

    /// Takes any bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// One bit.
    public static let search = Features(rawValue: 1)
    /// Another.
    public static let upload = Features(rawValue: 2)
}

/// A type that is `Codable`.
public struct Limits: Codable, StoredValueConvertible, Hashable {
    /// A property of it.
    public var perSecond: Int
    /// Another.
    public var burst: Int?

    /// Takes any numbers.
    public init(perSecond: Int = 100, burst: Int? = nil) {
        self.perSecond = perSecond
        self.burst = burst
    }
}

/// A type with raw values that is `Codable` as well.
public enum Mode: Int, Codable, StoredValueConvertible {
    case fast = 1
    case safe = 2
}

/// An enum with payloads.
public enum Endpoint: Codable, StoredValueConvertible, Hashable {
    case disabled
    case socket(path: String)
    case network(host: String, port: Int)
}

/// A type that has conversions of its own.
public struct Percentage: StoredValueConvertible, Comparable {
    /// The share of one.
    public var fraction: Double

    /// Takes any share.
    public init(_ fraction: Double) {
        self.fraction = fraction
    }

    /// Reads hundredths.
    public init(storedValue: StoredValue) throws {
        fraction = try Double(storedValue: storedValue) / 100
    }

    /// Writes hundredths.
    public func storedValue() throws -> StoredValue {
        .double(fraction * 100)
    }

    /// The order of the shares.
    public static func < (left: Percentage, right: Percentage) -> Bool {
        left.fraction < right.fraction
    }
}

/// A type that somebody else has made, and that nobody has made storable.
public struct Colour: Sendable, Equatable {
    /// The parts.
    public var red: UInt8
    /// The parts.
    public var green: UInt8
    /// The parts.
    public var blue: UInt8

    /// Takes the parts.
    public init(red: UInt8, green: UInt8, blue: UInt8) {
        (self.red, self.green, self.blue) = (red, green, blue)
    }
}

/// Stores a colour as a list of its parts.
public struct ColourBridge: StoredValueBridge {
    /// There is but one.
    public init() {}

    /// Reads three parts.
    public func value(from storedValue: StoredValue) throws -> Colour {
        let parts = try [UInt8](storedValue: storedValue)
        guard parts.count == 3 else { throw SettingsError.invalidValue("expected three parts, found \(parts.count)") }
        return Colour(red: parts[0], green: parts[1], blue: parts[2])
    }

    /// Writes three parts.
    public func storedValue(from colour: Colour) throws -> StoredValue {
        try [colour.red, colour.green, colour.blue].storedValue()
    }
}

/// Stores a date, which can be stored without, as its seconds.
public struct UnixSeconds: StoredValueBridge {
    /// There is but one.
    public init() {}

    /// Reads seconds.
    public func value(from storedValue: StoredValue) throws -> Date {
        Date(timeIntervalSince1970: try Double(storedValue: storedValue))
    }

    /// Writes seconds.
    public func storedValue(from date: Date) throws -> StoredValue {
        .double(date.timeIntervalSince1970)
    }
}
