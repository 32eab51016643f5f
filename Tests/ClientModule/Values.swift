// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An enum with raw values.
public enum LogLevel: String, StoredValueConvertible, CaseIterable {
    case debug, info, warning, error
}

/// A struct with raw values.
public struct Port: RawRepresentable, StoredValueConvertible, Hashable {
    /// The raw value.
    public var rawValue: UInt16

    /// Creates a value.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }
}

/// An option set.
public struct Features: OptionSet, StoredValueConvertible {
    /// The raw value.
    public let rawValue: Int

    /// Creates a set.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// An option.
    public static let search = Features(rawValue: 1)
    /// Another option.
    public static let upload = Features(rawValue: 2)
}

/// A `Codable` struct.
public struct Limits: Codable, StoredValueConvertible, Hashable {
    /// A property.
    public var perSecond: Int
    /// Another property.
    public var burst: Int?

    /// Creates a value.
    public init(perSecond: Int = 100, burst: Int? = nil) {
        self.perSecond = perSecond
        self.burst = burst
    }
}

/// A `Codable` enum with raw values.
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

/// A type with its own conversions.
public struct Percentage: StoredValueConvertible, Comparable {
    /// The fraction.
    public var fraction: Double

    /// Creates a fraction.
    public init(_ fraction: Double) {
        self.fraction = fraction
    }

    /// Reads hundredths.
    public init(storedValue: StoredValue) throws {
        fraction = try Double(storedValue: storedValue) / 100
    }

    /// Returns hundredths.
    public func storedValue() throws -> StoredValue {
        .double(fraction * 100)
    }

    /// Compares the fractions.
    public static func < (left: Percentage, right: Percentage) -> Bool {
        left.fraction < right.fraction
    }
}

/// A type of another module without a conformance.
public struct Color: Sendable, Equatable {
    /// The red component.
    public var red: UInt8
    /// The green component.
    public var green: UInt8
    /// The blue component.
    public var blue: UInt8

    /// Creates a color.
    public init(red: UInt8, green: UInt8, blue: UInt8) {
        (self.red, self.green, self.blue) = (red, green, blue)
    }
}

/// Stores a color as an array of its components.
public struct ColorBridge: StoredValueBridge {
    /// Creates the bridge.
    public init() {}

    /// Reads three components.
    public func value(from storedValue: StoredValue) throws -> Color {
        let parts = try [UInt8](storedValue: storedValue)
        guard parts.count == 3 else { throw SettingsError.invalidValue("expected three parts, found \(parts.count)") }
        return Color(red: parts[0], green: parts[1], blue: parts[2])
    }

    /// Returns three components.
    public func storedValue(from color: Color) throws -> StoredValue {
        try [color.red, color.green, color.blue].storedValue()
    }
}

/// Stores a date as seconds, although dates can be stored without a bridge.
public struct UnixSeconds: StoredValueBridge {
    /// Creates the bridge.
    public init() {}

    /// Reads seconds.
    public func value(from storedValue: StoredValue) throws -> Date {
        Date(timeIntervalSince1970: try Double(storedValue: storedValue))
    }

    /// Returns seconds.
    public func storedValue(from date: Date) throws -> StoredValue {
        .double(date.timeIntervalSince1970)
    }
}
