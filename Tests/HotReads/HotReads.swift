// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

/// Settings of a server, as a client declares them.
public struct HotSettings: Sendable {
    /// A small enum.
    public enum Level: UInt8, StoredValueConvertible { case low, high }

    /// An integer.
    @DefaultStorage(key: "port", in: 1...65_535) public var port = 8080
    /// A Boolean value.
    @DefaultStorage(key: "isOn") public var isOn = true
    /// A floating-point number.
    @DefaultStorage(key: "ratio") public var ratio = 0.5
    /// A small enum.
    @DefaultStorage(key: "level") public var level = Level.low
    /// A string.
    @DefaultStorage(key: "name") public var name = "a name"
    /// An array.
    @DefaultStorage(key: "hosts") public var hosts = ["localhost"]

    /// Creates the settings.
    public init() {}
}

// `.ci/check-hot-reads` inspects these functions in a release build: none may change a reference count on its way to a
// cached value.

/// Reads an integer.
@inline(never)
public func hotReadOfInt(_ settings: HotSettings) -> Int { settings.port }

/// Reads a Boolean value.
@inline(never)
public func hotReadOfBool(_ settings: HotSettings) -> Bool { settings.isOn }

/// Reads a floating-point number.
@inline(never)
public func hotReadOfDouble(_ settings: HotSettings) -> Double { settings.ratio }

/// Reads a small enum.
@inline(never)
public func hotReadOfEnum(_ settings: HotSettings) -> HotSettings.Level { settings.level }

// These functions retain the value that they copy out of a slot, which has to happen before they release the slot.

/// Reads a string.
@inline(never)
public func hotReadOfText(_ settings: HotSettings) -> String { settings.name }

/// Reads an array.
@inline(never)
public func hotReadOfList(_ settings: HotSettings) -> [String] { settings.hosts }
