// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A property of every kind of type.
public struct KindsOfTypes: Sendable {
    /// A raw value.
    @DefaultStorage(key: "level") public var level = LogLevel.info
    /// A raw value in a struct.
    @DefaultStorage(key: "port") public var port = Port(rawValue: 80)
    /// A raw value in an option set.
    @DefaultStorage(key: "features") public var features: Features = [.search]
    /// A struct.
    @DefaultStorage(key: "limits") public var limits = Limits()
    /// A raw value of a `Codable` enum.
    @DefaultStorage(key: "mode") public var mode = Mode.fast
    /// An enum with payloads.
    @DefaultStorage(key: "endpoint") public var endpoint = Endpoint.disabled
    /// A type with its own conversions.
    @DefaultStorage(key: "share", in: Percentage(0)...Percentage(1)) public var share = Percentage(0.5)
    /// An array of these values.
    @DefaultStorage(key: "levels") public var levels: [LogLevel] = []
    /// An array of enums with payloads.
    @DefaultStorage(key: "endpoints") public var endpoints: [Endpoint] = []
    /// A set of enums with payloads.
    @DefaultStorage(key: "endpointSet") public var endpointSet: Set<Endpoint> = []
    /// A dictionary of structs.
    @DefaultStorage(key: "limitsByHost") public var limitsByHost: [String: Limits] = [:]
    /// Structs with enums as keys.
    @DefaultStorage(key: "hostsByLevel") public var hostsByLevel: [LogLevel: [String]] = [:]
    /// Nested collections.
    @DefaultStorage(key: "nested") public var nested: [[String: Set<[String: Int]>]] = []
    /// An array of optionals.
    @DefaultStorage(key: "gaps") public var gaps: [Int?] = []
    /// An optional with a default, whose `nil` is a value.
    @DefaultStorage(key: "count") public var count: Int? = 42
    /// The same with `nil` as the default.
    @DefaultStorage(key: "nothing") public var nothing: Int? = nil
    /// A nested optional, whose outer `nil` means that no value is stored.
    @DefaultStorageOptional(key: "twice") public var twice: Int??
    /// An optional enum.
    @DefaultStorageOptional(key: "optionalMode") public var optionalMode: Mode?
    /// An optional with a validator, which is not called for `nil`.
    @DefaultStorageOptional(key: "positive", validate: { $0 > 0 }) public var positive: Int?
    /// A bridge.
    @DefaultStorage(key: "color", as: ColorBridge()) public var color = Color(red: 0, green: 0, blue: 0)
    /// A bridge for an optional.
    @DefaultStorageOptional(key: "optionalColor", as: ColorBridge()) public var optionalColor: Color?
    /// A bridge instead of a conformance, with a validator.
    @DefaultStorage(key: "since", as: UnixSeconds(), validate: { $0.timeIntervalSince1970 >= 0 })
    public var since = Date(timeIntervalSince1970: 5)

    /// Creates the settings in the standard suite.
    public init() {}
}

/// Ranges of every kind.
public struct KindsOfRanges: Sendable {
    /// A closed range.
    @DefaultStorage(key: "closed", in: 1...5) public var closed = 3
    /// A half-open range.
    @DefaultStorage(key: "halfOpen", in: 1..<5) public var halfOpen = 3
    /// A range without an upper bound.
    @DefaultStorage(key: "from", in: 1...) public var from: UInt8 = 3
    /// A range through an upper bound.
    @DefaultStorage(key: "through", in: ...5) public var through = 3
    /// A range up to an upper bound.
    @DefaultStorage(key: "upTo", in: ..<5) public var upTo = 3
    /// A range of floating-point numbers with integer literals.
    @DefaultStorage(key: "fraction", in: 0...1) public var fraction = 0.5
    /// A range of strings.
    @DefaultStorage(key: "text", in: "a"..."f") public var text = "c"
    /// A range of dates.
    @DefaultStorage(key: "date", in: Date(timeIntervalSince1970: 0)...) public var date = Date(timeIntervalSince1970: 9)
    /// A range of durations.
    @DefaultStorage(key: "timeout", in: .zero ... .seconds(60)) public var timeout = Duration.seconds(5)
    /// A range with a validator.
    @DefaultStorage(key: "even", in: 0...10, validate: { $0.isMultiple(of: 2) }) public var even = 4

    /// Creates the settings in the standard suite.
    public init() {}
}
