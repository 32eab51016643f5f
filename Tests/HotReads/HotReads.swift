// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

/// Settings of a server, as a client declares them.
public struct HotSettings: Sendable {
    public enum Level: UInt8, StoredValueConvertible { case low, high }

    @DefaultStorage(key: "port", in: 1...65_535) public var port = 8080
    @DefaultStorage(key: "isOn") public var isOn = true
    @DefaultStorage(key: "ratio") public var ratio = 0.5
    @DefaultStorage(key: "level") public var level = Level.low

    public init() {}
}

// What `.ci/check-hot-reads` looks at in a release build: none of these may touch a reference count on its way to a value
// that is in its cell.

@inline(never)
public func hotReadOfInt(_ settings: HotSettings) -> Int { settings.port }

@inline(never)
public func hotReadOfBool(_ settings: HotSettings) -> Bool { settings.isOn }

@inline(never)
public func hotReadOfDouble(_ settings: HotSettings) -> Double { settings.ratio }

@inline(never)
public func hotReadOfEnum(_ settings: HotSettings) -> HotSettings.Level { settings.level }
