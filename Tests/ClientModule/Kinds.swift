// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A property of every kind of type.
public struct KindsOfTypes: Sendable {
    /// Raw values.
    @DefaultStorage(key: "level") public var level = LogLevel.info
    /// Raw values in a structure.
    @DefaultStorage(key: "port") public var port = Port(rawValue: 80)
    /// Raw values in a set of options.
    @DefaultStorage(key: "features") public var features: Features = [.search]
    /// A structure.
    @DefaultStorage(key: "limits") public var limits = Limits()
    /// Raw values and a structure.
    @DefaultStorage(key: "mode") public var mode = Mode.fast
    /// Payloads.
    @DefaultStorage(key: "endpoint") public var endpoint = Endpoint.disabled
    /// Conversions of its own.
    @DefaultStorage(key: "share", in: Percentage(0)...Percentage(1)) public var share = Percentage(0.5)
    /// A list of them.
    @DefaultStorage(key: "levels") public var levels: [LogLevel] = []
    /// A list of payloads.
    @DefaultStorage(key: "endpoints") public var endpoints: [Endpoint] = []
    /// A set of payloads.
    @DefaultStorage(key: "endpointSet") public var endpointSet: Set<Endpoint> = []
    /// Named structures.
    @DefaultStorage(key: "limitsByHost") public var limitsByHost: [String: Limits] = [:]
    /// Structures named by an enum.
    @DefaultStorage(key: "hostsByLevel") public var hostsByLevel: [LogLevel: [String]] = [:]
    /// Collections in collections.
    @DefaultStorage(key: "nested") public var nested: [[String: Set<[String: Int]>]] = []
    /// A list with gaps.
    @DefaultStorage(key: "gaps") public var gaps: [Int?] = []
    /// An optional with a default, whose `nil` is a value.
    @DefaultStorage(key: "count") public var count: Int? = 42
    /// The same, with that value as the default.
    @DefaultStorage(key: "nothing") public var nothing: Int? = nil
    /// An optional in an optional, whose outer `nil` means that nothing is stored.
    @DefaultStorageOptional(key: "twice") public var twice: Int??
    /// An optional enum.
    @DefaultStorageOptional(key: "optionalMode") public var optionalMode: Mode?
    /// An optional with a validator, which is not asked about `nil`.
    @DefaultStorageOptional(key: "positive", validate: { $0 > 0 }) public var positive: Int?
    /// A bridge.
    @DefaultStorage(key: "colour", as: ColourBridge()) public var colour = Colour(red: 0, green: 0, blue: 0)
    /// A bridge for an optional.
    @DefaultStorageOptional(key: "optionalColour", as: ColourBridge()) public var optionalColour: Colour?
    /// A bridge instead of a conformance, with a validator.
    @DefaultStorage(key: "since", as: UnixSeconds(), validate: { $0.timeIntervalSince1970 >= 0 })
    public var since = Date(timeIntervalSince1970: 5)

    /// Takes the standard suite.
    public init() {}
}

/// Ranges of every kind.
public struct KindsOfRanges: Sendable {
    /// Closed.
    @DefaultStorage(key: "closed", in: 1...5) public var closed = 3
    /// Half open.
    @DefaultStorage(key: "halfOpen", in: 1..<5) public var halfOpen = 3
    /// Without an end.
    @DefaultStorage(key: "from", in: 1...) public var from: UInt8 = 3
    /// Without a beginning.
    @DefaultStorage(key: "through", in: ...5) public var through = 3
    /// Without a beginning, and without its end.
    @DefaultStorage(key: "upTo", in: ..<5) public var upTo = 3
    /// Of fractions, from literals of integers.
    @DefaultStorage(key: "fraction", in: 0...1) public var fraction = 0.5
    /// Of texts.
    @DefaultStorage(key: "text", in: "a"..."f") public var text = "c"
    /// Of times.
    @DefaultStorage(key: "date", in: Date(timeIntervalSince1970: 0)...) public var date = Date(timeIntervalSince1970: 9)
    /// Of durations.
    @DefaultStorage(key: "timeout", in: .zero ... .seconds(60)) public var timeout = Duration.seconds(5)
    /// With a validator.
    @DefaultStorage(key: "even", in: 0...10, validate: { $0.isMultiple(of: 2) }) public var even = 4

    /// Takes the standard suite.
    public init() {}
}
