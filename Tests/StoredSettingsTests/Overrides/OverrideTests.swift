// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Overridden settings", .deadlockLimit)
struct OverrideTests {
    private let reporter = RecordingReporter()

    private func suite(
        _ values: [String: StoredValue] = [:],
        _ arguments: String...,
        variables: [String: String] = [:]
    ) -> SettingsSuite {
        let sources: [SettingsSource] = [.commandLine(arguments), .environment(variables, prefix: "ACME_")]
        return .inMemory(values, sources: sources, reporter: reporter)
    }

    @Test("a flag of a list without a value is reported, even if the flag has a value later")
    func listWithoutValue() {
        let ports = Setting("ports", default: [1], suite: suite([:], "--ports", "--ports", "2"))
        #expect(ports.value == [1])
        #expect(reporter.errors.map(\.fact) == ["--ports cannot be used: no value follows it"])
    }

    @Test("a text that was not UTF-8 is reported, and not used with other characters")
    func otherEncoding() {
        let host = Setting("host", default: "a", suite: suite([:], variables: ["ACME_HOST": "caf\u{FFFD}"]))
        let hosts = Setting("hosts", default: ["a"], suite: suite([:], "--hosts", "b", "--hosts", "caf\u{FFFD}"))
        #expect(host.value == "a" && hosts.value == ["a"])
        #expect(reporter.errors.count == 2)
        #expect(reporter.errors.allSatisfy { $0.fact.contains("the text is not valid UTF-8") })
    }

    @Test("the last flag and the first override of a kind take precedence")
    func precedence() {
        #expect(Setting("port", default: 1, suite: suite([:], "--port", "2", "-port", "3", "--port=4")).value == 4)
        let sources: [SettingsSource] = [
            .environment(["A_PORT": "2"], prefix: "A_"), .environment(["B_PORT": "3"], prefix: "B_"),
        ]
        let twice = Setting("port", default: 1, suite: .inMemory(sources: sources))
        #expect(twice.value == 2)
        #expect(twice.explain().shadowed == [.environment: 3, .default: 1])
    }

    @Test("variables that are given to an override replace those of the process")
    func givenVariables() throws {
        _ = try #require(SystemCalls.environmentVariable("PATH"))
        for (variables, expected) in [([:], "none"), (["PATH": "/given"], "/given")] {
            let suite = SettingsSuite.inMemory(sources: [.environment(variables, prefix: "")], reporter: reporter)
            #expect(Setting("path", default: "none", suite: suite).value == expected)
        }
    }

    @Test("an assignment is stored, and an override is never stored")
    func writes() throws {
        let suite = suite([:], "--port", "9")
        let port = Setting("port", default: 1, suite: suite)
        #expect(!port.isSet)
        #expect(try port.load() == nil)
        port.value = 2
        #expect(port.value == 9)
        #expect(port.isSet)
        #expect(try port.load() == 2)
        #expect(try port.update { $0 += 1 } == 3)
        #expect(suite.snapshot() == ["port": 3])
        try suite.transaction { $0[port] += 1 }
        #expect(suite.snapshot() == ["port": 4])
        try port.reset()
        #expect(suite.snapshot().isEmpty)
        #expect(port.value == 9)
        #expect(port.explain().shadowed == [.default: 1])
    }

    @Test("an overridden setting has an initial value and no changes, but its suite's store does")
    func changes() async throws {
        let suite = suite([:], "--port", "9")
        let port = Setting("port", default: 1, suite: suite)
        let observed = CallLog<[Int]>()
        let observation = port.observe(initial: true) { observed.add([$0.old, $0.new]) }
        var values = port.values.makeAsyncIterator()
        var changes = port.changes().makeAsyncIterator()
        var stored = suite.changes().makeAsyncIterator()
        #expect(await values.next() == 9)
        for number in 2...5 { try await port.set(number) }
        try await port.reset()
        try await port.set(6)
        #expect(await stored.next()?["port"]?.new == 6)
        await suite.finish()
        #expect(await values.next() == nil)
        #expect(await changes.next() == nil)
        #expect(observed.all == [[9, 9]])
        observation.invalidate()
    }

    @Test("an invalid override is reported once, and the next layer is used")
    func invalidOverride() throws {
        let variables = ["ACME_PORT": "3"]
        let suite = suite(["port": 2], "--port", "eighty", variables: variables)
        for _ in 0..<3 {
            // A validator prevents these settings from sharing a cache.
            let port = DefaultStorage(wrappedValue: 1, key: "port", suite: suite, validate: { $0 > 0 })
            #expect(port.wrappedValue == 3)
            try port.projectedValue.set(5)
            #expect(port.wrappedValue == 3)
            #expect(port.projectedValue.explain().layer == .environment)
            #expect(port.projectedValue.explain().problem?.fact.contains("--port") == true)
        }
        #expect(reporter.errors.count == 1)
        let message = try #require(reporter.errors.first?.message)
        #expect(
            message
                == "setting 'port' of suite 'in memory': --port cannot be used: expected an integer, found a string. "
                + "It is ignored, and the next layer is used. Give --port an integer that the setting accepts, or omit it."
        )
    }

    @Test("the stored value, then the default, is used when no override is valid")
    func allInvalid() throws {
        let variables = ["ACME_PORT": "0"]
        let stored = suite(["port": 2], "--port", variables: variables)
        let port = DefaultStorage(wrappedValue: 1, key: "port", suite: stored, in: 1...9)
        #expect(port.wrappedValue == 2)
        #expect(reporter.errors.map(\.code) == [.invalidValue, .validationFailed])
        #expect(reporter.errors.first?.fact == "--port cannot be used: no value follows it")
        try port.projectedValue.reset()
        #expect(port.wrappedValue == 1)
        #expect(reporter.errors.count == 2)
    }

    @Test("an invalid override below a valid one is not reported")
    func invalidBelowValid() {
        let port = Setting("port", default: 1, suite: suite([:], "--port=4", variables: ["ACME_PORT": "x"]))
        #expect(port.value == 4)
        #expect(port.explain().problem == nil)
        #expect(reporter.errors.isEmpty)
    }

    @Test(
        "a flag sets a Boolean, with or without a value",
        arguments: [
            (["--flag"], true), (["--no-flag"], false), (["--flag", "--no-flag"], false),
            (["--no-flag", "--flag"], true),
            (["--flag", "file"], true), (["--flag", "no"], false), (["--flag=off"], false), (["-flag", "YES"], true),
            (["--flag", "false", "--flag"], true), (["--flag", "--other"], true), (["-flag", "N"], false),
            (["-flag", "n"], false), (["-flag", "F"], false), (["--flag", "f"], false), (["-flag", "Y"], true),
            (["-flag"], true), (["-flag", "--other"], true),
        ]
    )
    func flags(arguments: [String], expected: Bool) {
        let suite = SettingsSuite.inMemory(sources: [.commandLine(arguments)], reporter: reporter)
        #expect(Setting("flag", default: !expected, suite: suite).value == expected)
        #expect(Setting("flag", default: Bool?.none, suite: suite).value == expected)
        #expect(DefaultStorageOptional<Bool>(key: "flag", suite: suite).wrappedValue == expected)
        #expect(reporter.errors.isEmpty)
    }

    @Test(
        "an invalid Boolean after a flag is reported and does not count as true",
        arguments: [["-flag", "nope"], ["-flag", "2"], ["-flag", "x"], ["--flag=x"], ["--no-flag=1"], ["--flag="]]
    )
    func invalidBoolean(arguments: [String]) {
        let sources: [SettingsSource] = [
            .commandLine(arguments), .environment(["ACME_FLAG": "no"], prefix: "ACME_"),
        ]
        let suite = SettingsSuite.inMemory(["flag": true], sources: sources, reporter: reporter)
        #expect(!Setting("flag", default: true, suite: suite).value)
        #expect(reporter.errors.count == 1)
        #expect(reporter.errors.first?.fact.contains(" cannot be used: ") == true)
    }

    @Test("a Boolean flag is not true when the validator rejects its false")
    func rejectedBoolean() {
        let suite = suite([:], "--flag", "false")
        let flag = DefaultStorage(wrappedValue: true, key: "flag", suite: suite, validate: { $0 })
        #expect(flag.wrappedValue)
        #expect(flag.projectedValue.explain().layer == .default)
        #expect(reporter.errors.map(\.code) == [.validationFailed])
    }

    @Test("a negated flag has no effect on a setting that is not a Boolean")
    func notNegated() {
        let suite = suite([:], "--no-cache", "--no-port", "--port=2", "--no-port", "--no-port=3")
        #expect(Setting("cache", default: "x", suite: suite).value == "x")
        #expect(Setting("port", default: 1, suite: suite).value == 2)
        #expect(Setting("noCache", default: false, suite: suite).value)
        #expect(reporter.errors.isEmpty)
    }

    @Test("settings with different overrides, or none, are distinct over one store")
    func identity() throws {
        let store = InMemoryStore(["port": 2, "name": "b"])
        let suites = [
            SettingsSuite(store: store),
            SettingsSuite(store: store, sources: [.commandLine(["--port=3", "--name=c"])]),
            SettingsSuite(store: store, sources: [.commandLine(["--port=4", "--name=d"])]),
        ]
        let again = SettingsSuite(store: store, sources: [.commandLine(["--port=4", "--name=d"])])
        for _ in 0..<2 {
            #expect(suites.map { Setting("port", default: 1, suite: $0).value } == [2, 3, 4])
            #expect(suites.map { Setting("name", default: "a", suite: $0).value } == ["b", "c", "d"])
        }
        #expect(Set(suites).count == 3)
        #expect(suites[2] == again)
        #expect(suites[0] == SettingsSuite(store: store))
        #expect(
            ObjectIdentifier(Setting("port", default: 1, suite: suites[2]).box)
                == ObjectIdentifier(Setting("port", default: 1, suite: again).box)
        )
        try Setting("port", default: 1, suite: again).set(7)
        #expect(suites.map { Setting("port", default: 1, suite: $0).value } == [7, 3, 4])
    }

    @Test("no user code runs until the override is read, and it is decoded once")
    func lazily() throws {
        let decoded = RecordingReporter()
        let suite = suite([:], "--port", "9")
        let port = DefaultStorage(wrappedValue: 1, key: "port", suite: suite) { _ in
            decoded.report(.invalidValue("decoded"))
            return true
        }
        #expect(decoded.errors.isEmpty)
        #expect(port.wrappedValue == 9)
        try suite.setStoredValue(3, forKey: "port")
        #expect(port.wrappedValue == 9)
        #expect(decoded.errors.count == 1)
    }

    @Test("a reporter of an invalid override may read the setting")
    func reentrancy() {
        let reports = Counter()
        let setting = Mutex<Setting<Int>?>(nil)
        let reporter = CallingReporter { _ in
            reports.add()
            _ = setting.withLock(\.self)?.value
        }
        let suite = SettingsSuite.inMemory(sources: [.commandLine(["--port", "x"])], reporter: reporter)
        let port = Setting("port", default: 1, suite: suite)
        setting.withLock { $0 = port }
        #expect(port.value == 1)
        #expect(reports.count == 1)
    }

    @Test("no string is nil for an optional without a default")
    func noNull() {
        let suite = suite(["count": 3], "--count=null")
        #expect(DefaultStorageOptional<Int>(key: "count", suite: suite).wrappedValue == 3)
        #expect(reporter.errors.count == 1)
    }

    @Test("the key itself is a flag, after one dash and after two, unless the setting has a flag of its own")
    func keyAsFlag() {
        for flag in ["--log-level", "--logLevel", "-logLevel"] {
            #expect(Setting("logLevel", default: 1, suite: suite([:], flag, "7")).value == 7, "\(flag)")
        }
        let own = Setting("logLevel", default: 1, suite: suite([:], "--logLevel", "7"), traits: .flag("level"))
        #expect(own.value == 1)
    }

    @Test("an empty variable is an empty string, and is not missing")
    func emptyVariable() {
        let suite = suite(["name": "stored", "count": 3], variables: ["ACME_NAME": "", "ACME_COUNT": ""])
        #expect(Setting("name", default: "default", suite: suite).value.isEmpty)
        #expect(Setting("count", default: 1, suite: suite).value == 3)
        #expect(
            reporter.errors.map(\.fact) == ["ACME_COUNT cannot be used: expected an integer, found an empty string"]
        )
    }
}
