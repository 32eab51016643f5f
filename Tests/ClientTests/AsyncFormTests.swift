// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("Asynchronous and synchronous forms")
struct AsyncFormTests {
    private static let preamble = """
        import StoredSettings

        final class Settings: @unchecked Sendable { @DefaultStorage(key: "port") var port = 8080 }
        extension SettingKeys { static let port = SettingKey("port", default: 8080) }
        let (settings, suite) = (Settings(), SettingsSuite.standard)
        func route(_ handler: @Sendable () async throws -> Void) {}
        func run(_ body: () throws -> Void) rethrows { try body() }
        typealias Group = ThrowingTaskGroup<Void, any Error>

        """

    private static let synchronous = [
        "func f() throws { try settings.$port.set(1) }",
        "func f() async throws { settings.port = 1 }",
        "actor A { func f() throws { try suite.reset(.port) } }",
        "func f() async throws { try run { try settings.$port.set(1) } }",
        "func f() async throws { func g() throws { try settings.$port.set(1) }; try g() }",
        "func f() async throws { defer { suite.finish() }; settings.port = 1 }",
        "func f() { Task { suite.finish() } }",
    ]

    private static let asynchronous = [
        "func f() async throws { try await settings.$port.set(1) }",
        "func f() { Task { try await settings.$port.set(1) } }",
        "func f(_ group: inout Group) { group.addTask { try await suite.transaction { $0[.port] = 1 } } }",
        "func f() { route { try await settings.$port.reset() } }",
        "actor A { func f() async throws { try await suite.reset(.port) } }",
        "@MainActor func f() async throws { try await settings.$port.reset() }",
        "func f() async throws { async let x: Void = settings.$port.set(1); try await x }",
        "func f() async { await suite.finish() }",
        "func f() async throws { try await SettingsMigrator().migrate(suite) }",
    ]

    /// Calls that would block the thread of a task.
    private static let rejected = [
        "func f() async throws { try settings.$port.set(1) }",
        "func f(_ port: Setting<Int>?) async throws { try port?.set(1) }",
        "func f() async { try? settings.$port.set(1) }",
        "func f() { Task { try settings.$port.set(1) } }",
        "func f() { Task.detached { try settings.$port.update { $0 += 1 } } }",
        "func f(_ group: inout Group) { group.addTask { try suite.transaction { $0[.port] = 1 } } }",
        "func f() { route { try settings.$port.reset() } }",
        "let f: @Sendable () async throws -> Void = { try settings.$port.set(1) }",
        "actor A { func f() async throws { try suite.reset(.port) } }",
        "@MainActor func f() async throws { try settings.$port.reset() }",
        "func f() async throws { defer { try? suite.synchronize() }; settings.port = 1 }",
        "func f() async { suite.finish() }",
        #"func f() async throws { try suite.setStoredValue(1, forKey: "port") }"#,
        "func f() async throws { try suite.removeAll() }",
        "func f() { Task { try suite.synchronize() } }",
        "func f() { Task { try suite.checkpoint() } }",
        "func f() { Task { try suite.refresh() } }",
        "func f() async throws { try SettingsMigrator().migrate(suite) }",
        #"func f(_ setting: AnySetting) async throws { try setting.set(text: "1") }"#,
        "func f(_ setting: AnySetting) async throws { try setting.reset() }",
    ]

    /// The compiler is run once for all calls, each on a line of its own.
    private static let complaints = Result {
        let calls = (synchronous + asynchronous + rejected).enumerated().map { "struct Call\($0) { \($1) }" }
        return try Compiler().check(preamble + calls.joined(separator: "\n"))
    }

    private static let firstRejection = preamble.count { $0 == "\n" } + synchronous.count + asynchronous.count + 1

    @Test("a synchronous function blocks, and a task is suspended where `await` is written")
    func forms() throws {
        // A synchronous form behind `await`, and an asynchronous one without it, are diagnosed.
        let complaints = try Self.complaints.get()
        #expect(complaints.filter { $0.line < Self.firstRejection } == [])
    }

    @Test("a task that would block its thread is rejected, and the compiler says what to write", arguments: rejected)
    func rejection(of call: String) throws {
        let line = try Self.firstRejection + #require(Self.rejected.firstIndex(of: call))
        let complaints = try Self.complaints.get().filter { $0.line == line }.map(\.message)
        #expect(complaints.count == 1)
        #expect(
            complaints.allSatisfy {
                $0 == "expression is 'async' but is not marked with 'await'"
                    || $0.contains("is unavailable from asynchronous contexts; write 'try await'")
            },
            "\(complaints)"
        )
    }

    /// There, Swift 6.3 takes the synchronous form even behind `await`, and refuses it.
    @Test("the error of code at the top level that awaits something says what to write")
    func topLevel() throws {
        let calls = """
            try await settings.$port.set(1)
            try await { try await settings.$port.set(1) }()
            func set() async throws { try await settings.$port.set(1) }
            try await set()
            """
        let complaints = try Compiler().check(Self.preamble + calls, isProgram: true)
        let line = Self.preamble.count { $0 == "\n" } + 1
        let message = "write 'try await'; at the top level, in a function"
        #expect(complaints.contains { $0.line == line && $0.message.hasSuffix(message) })
        #expect(complaints.filter { $0.line != line } == [])
    }
}
