// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// The values that the rows store and read.
enum Sample {
    /// Too long to be stored inline in a `String`, as most strings are.
    static let text = "the quick brown fox jumps over the lazy timeout"
    static let texts = ["alpha.example.org", "beta.example.org", "gamma.example.org"]
    static let limits = Limits(perSecond: 250, burst: 50)
}

enum Level: String, StoredValueConvertible {
    case debug
    case info
    case warning
}

struct Limits: Codable, StoredValueConvertible {
    var perSecond = 100
    var burst = 20
}

/// The settings that are read, as a program declares them; all stored values differ from the defaults.
struct SampleSettings: Sendable {
    @DefaultStorage var bool: Bool
    @DefaultStorage var int: Int
    @DefaultStorage var double: Double
    @DefaultStorage var level: Level
    @DefaultStorage var text: String
    @DefaultStorage var texts: [String]
    @DefaultStorage var limits: Limits

    init(_ suite: SettingsSuite) throws {
        _bool = DefaultStorage(wrappedValue: false, key: "bool", suite: suite)
        _int = DefaultStorage(wrappedValue: 0, key: "int", suite: suite)
        _double = DefaultStorage(wrappedValue: 0, key: "double", suite: suite)
        _level = DefaultStorage(wrappedValue: .debug, key: "level", suite: suite)
        _text = DefaultStorage(wrappedValue: "", key: "text", suite: suite)
        _texts = DefaultStorage(wrappedValue: [], key: "texts", suite: suite)
        _limits = DefaultStorage(wrappedValue: Limits(), key: "limits", suite: suite)
        try suite.transaction { settings in
            settings[$bool] = true
            settings[$int] = 42
            settings[$double] = 0.5
            settings[$level] = .warning
            settings[$text] = Sample.text
            settings[$texts] = Sample.texts
            settings[$limits] = Sample.limits
        }
    }
}
