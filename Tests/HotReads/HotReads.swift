// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

/// Settings of a server, as a client declares them.
public struct HotSettings: Sendable {
    /// A small enum.
    public enum Level: UInt8, StoredValueConvertible { case low, high }

    /// An integer.
    @DefaultStorage(key: "port", in: 1...65_535) public var port = 8080
    /// A truth value.
    @DefaultStorage(key: "isOn") public var isOn = true
    /// A number.
    @DefaultStorage(key: "ratio") public var ratio = 0.5
    /// One of few.
    @DefaultStorage(key: "level") public var level = Level.low
    /// A text.
    @DefaultStorage(key: "name") public var name = "a name"
    /// A list.
    @DefaultStorage(key: "hosts") public var hosts = ["localhost"]

    /// Creates them.
    public init() {}
}

// What `.ci/check-hot-reads` looks at in a release build: none of these may touch a reference count on its way to a value
// that is in its cell.

/// Reads an integer.
@inline(never)
public func hotReadOfInt(_ settings: HotSettings) -> Int { settings.port }

/// Reads a truth value.
@inline(never)
public func hotReadOfBool(_ settings: HotSettings) -> Bool { settings.isOn }

/// Reads a number.
@inline(never)
public func hotReadOfDouble(_ settings: HotSettings) -> Double { settings.ratio }

/// Reads a small enum.
@inline(never)
public func hotReadOfEnum(_ settings: HotSettings) -> HotSettings.Level { settings.level }

// These count the reference of what they copy out of a slot, and must do so before they give the slot back.

/// Reads a text.
@inline(never)
public func hotReadOfText(_ settings: HotSettings) -> String { settings.name }

/// Reads a list.
@inline(never)
public func hotReadOfList(_ settings: HotSettings) -> [String] { settings.hosts }
