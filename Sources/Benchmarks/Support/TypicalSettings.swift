// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// A typical mix of settings in a suite that is passed in.
struct TypicalSettings: Sendable {
    static let propertyCount = 10

    @DefaultStorage var isVerbose: Bool
    @DefaultStorage var isCompressing: Bool
    @DefaultStorage var port: Int
    @DefaultStorage var workers: Int
    @DefaultStorage var rate: Double
    @DefaultStorage var host: String
    @DefaultStorage var greeting: String
    @DefaultStorage var level: Level
    @DefaultStorage var allowedHosts: [String]
    @DefaultStorageOptional var lastRun: Int?

    init(_ suite: SettingsSuite) {
        _isVerbose = DefaultStorage(wrappedValue: false, key: "isVerbose", suite: suite, help: "Log each request.")
        _isCompressing = DefaultStorage(
            wrappedValue: true,
            key: "isCompressing",
            suite: suite,
            help: "Compress replies."
        )
        _port = DefaultStorage(
            wrappedValue: 8_080,
            key: "port",
            suite: suite,
            in: 1...65_535,
            help: "Port to listen on.",
            traits: .requiresRestart
        )
        _workers = DefaultStorage(
            wrappedValue: 4,
            key: "workers",
            suite: suite,
            in: 1...64,
            help: "Threads that serve requests.",
            traits: .renamed(from: "threads")
        )
        _rate = DefaultStorage(wrappedValue: 0.5, key: "rate", suite: suite, help: "Fraction of requests to trace.")
        _host = DefaultStorage(wrappedValue: "localhost", key: "host", suite: suite, help: "Address to listen on.")
        _greeting = DefaultStorage(wrappedValue: Sample.text, key: "greeting", suite: suite, traits: .secret)
        _level = DefaultStorage(wrappedValue: .info, key: "level", suite: suite, help: "Lowest severity to log.")
        _allowedHosts = DefaultStorage(wrappedValue: Sample.texts, key: "allowedHosts", suite: suite)
        _lastRun = DefaultStorageOptional(key: "lastRun", suite: suite, help: "When it ran last.")
    }
}

/// The same settings, where each property names its suite.
struct LiteralSettings: Sendable {
    static let suite = "benchmark.literal"

    @DefaultStorage(key: "isVerbose", suite: "benchmark.literal") var isVerbose = false
    @DefaultStorage(key: "isCompressing", suite: "benchmark.literal") var isCompressing = true
    @DefaultStorage(key: "port", suite: "benchmark.literal", in: 1...65_535) var port = 8_080
    @DefaultStorage(key: "workers", suite: "benchmark.literal", in: 1...64) var workers = 4
    @DefaultStorage(key: "rate", suite: "benchmark.literal") var rate = 0.5
    @DefaultStorage(key: "host", suite: "benchmark.literal") var host = "localhost"
    @DefaultStorage(key: "greeting", suite: "benchmark.literal") var greeting = Sample.text
    @DefaultStorage(key: "level", suite: "benchmark.literal") var level = Level.info
    @DefaultStorage(key: "allowedHosts", suite: "benchmark.literal") var allowedHosts = Sample.texts
    @DefaultStorageOptional(key: "lastRun", suite: "benchmark.literal") var lastRun: Int?
}
