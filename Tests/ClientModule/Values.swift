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
