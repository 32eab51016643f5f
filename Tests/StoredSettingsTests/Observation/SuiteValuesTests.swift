// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Values of several settings", .deadlockLimit)
struct SuiteValuesTests {
    private let reporter = RecordingReporter()
    private let suite: SettingsSuite
    private let host: Setting<String>
    private let port: Setting<Int>

    init() {
        suite = .inMemory(reporter: reporter)
        host = Setting("host", default: "localhost", suite: suite)
        port = Setting("port", default: 8080, suite: suite, in: 1...65_535)
    }

    @Test("the changes of a transaction arrive together, and a slow loop receives the newest values")
    func transaction() async throws {
        var iterator = suite.values(of: host, port).makeAsyncIterator()
        _ = await iterator.next()
        try await suite.transaction {
            $0[host] = "a.example"
            $0[port] = 1
        }
        #expect(try #require(await iterator.next()) == ("a.example", 1))
        port.value = 2
        host.value = "b.example"
        port.value = 3
        #expect(try #require(await iterator.next()) == ("b.example", 3))
    }

    @Test("a change that is reversed after the first read is delivered")
    func reversal() async throws {
        var iterator = suite.values(of: port).makeAsyncIterator()
        port.value = 1
        var late = suite.values(of: port).makeAsyncIterator()
        try await port.reset()
        #expect(await iterator.next() == 8080)
        #expect(await late.next() == 1)
        #expect(await late.next() == 8080)
        port.value = 2
        #expect(await iterator.next() == 2)
    }

    @Test("the loop ends with its suite and with its task")
    func ending() async {
        var iterator = suite.values(of: host, port).makeAsyncIterator()
        _ = await iterator.next()
        let (started, signal) = AsyncStream.makeStream(of: Void.self)
        let task = Task { [suite, host, port] in
            var count = 0
            for await _ in suite.values(of: host, port) {
                count += 1
                signal.finish()
            }
            return count
        }
        for await _ in started {}
        task.cancel()
        #expect(await task.value == 1)
        await suite.finish()
        #expect(await iterator.next() == nil)
    }

    @Test("a loop without a first element begins with the first change")
    func withoutFirst() async {
        var iterator = suite.values(of: host, port, initial: false).makeAsyncIterator()
        port.value = 1
        #expect(await iterator.next() ?? ("", 0) == ("localhost", 1))
        port.value = 2
        #expect(await iterator.next() ?? ("", 0) == ("localhost", 2))
    }

    @Test("a coherent read has values from all sources, and the newest ones after each change")
    func coherentRead() async throws {
        let variables = SettingsSource.environment(["HOST": "h"], prefix: "")
        let suite = SettingsSuite.inMemory(sources: [.stored, variables], reporter: reporter)
        let (host, port) = (Setting("host", default: "", suite: suite), Setting("port", default: 80, suite: suite))
        let level = Setting<Int?>("level", suite: suite)
        for number in 1...3 {
            #expect(suite.read(host, port) == ("h", port.value))
            port.value = number
            #expect(suite.read(host, port) == ("h", number))
            let (third, fourth, last) = suite.read(port, host, level)
            #expect(third == number && fourth == "h" && last == nil)
        }
        try await host.set("stored")
        #expect(suite.read(port, host) == (3, "stored"))
        #expect(reporter.errors.isEmpty)
    }

    private struct ServerSettings {
        @DefaultStorage var host: String
        @DefaultStorage var port: Int
        @DefaultStorageOptional(key: "token") var token: String?
        let other: Setting<Int>
        let pair: (Setting<Int>, Setting<Int>)

        init(_ suite: SettingsSuite, _ another: SettingsSuite) {
            _host = DefaultStorage(wrappedValue: "localhost", key: "host", suite: suite)
            _port = DefaultStorage(wrappedValue: 8080, key: "port", suite: suite)
            _token = DefaultStorageOptional(key: "token", suite: suite)
            other = Setting("other", default: 1, suite: another)
            pair = (Setting("left", default: 0, suite: suite), Setting("right", default: 0, suite: suite))
        }
    }

    @Test("a snapshot keeps the values of all settings")
    func snapshot() async throws {
        let settings = ServerSettings(suite, .inMemory())
        settings.port = 1
        let now = SettingsSnapshot(settings)
        settings.port = 2
        settings.token = "t"
        settings.other.value = 3
        #expect(now.$host == "localhost" && now.$port == 1 && now.$token == nil && now[settings.other] == 1)
        let later = SettingsSnapshot(settings)
        #expect(later.$port == 2 && later.$token == "t" && later.other == 3)
        #expect(now[Setting("elsewhere", default: 5, suite: suite)] == 5)
    }

    @Test("a snapshot has all changes of a transaction, or none")
    func wholeSnapshot() async throws {
        let settings = ServerSettings(suite, .inMemory())
        let isOver = Flag()
        async let writing: Void = blocking {
            for number in 1...2_000 {
                do {
                    try suite.transaction { values in
                        values[settings.pair.0] = number
                        values[settings.pair.1] = number
                    }
                } catch {
                    Issue.record(error)
                }
            }
            isOver.set()
        }
        var torn = 0
        while !isOver.isSet {
            let now = SettingsSnapshot(settings)
            if now[settings.pair.0] != now[settings.pair.1] { torn += 1 }
        }
        await writing
        #expect(torn == 0)
    }

    @Test("a coherent read of a setting of another suite is reported")
    func coherentReadOfOtherSuite() {
        let foreign = Setting("port", default: 5, suite: .inMemory())
        for _ in 0..<3 { #expect(suite.read(port, foreign) == (8080, 5)) }
        #expect(suite.read(port, host, foreign) == (8080, "localhost", 5))
        #expect(reporter.errors.map(\.code) == [.otherSuite])
    }

    @Test("a setting of another suite is reported, and its changes add no element")
    func otherSuite() async throws {
        let foreign = Setting("port", default: 5, suite: .inMemory())
        var iterator = suite.values(of: port, foreign).makeAsyncIterator()
        #expect(reporter.errors.map(\.code) == [.otherSuite])
        #expect(try #require(await iterator.next()) == (8080, 5))
        foreign.value = 6
        port.value = 1
        #expect(try #require(await iterator.next()) == (1, 5))
    }
}
