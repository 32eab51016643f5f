// SPDX-License-Identifier: Apache-2.0

import StoredSettings
public import Testing

/// Replaces the suites of every test by suites of its own in memory: see `Trait.isolatedSettings(_:)`.
public struct IsolatedSettingsTrait: TestTrait, SuiteTrait, TestScoping {
    private let names: [String]

    fileprivate init(_ names: [String]) {
        self.names = names
    }

    /// Applies to the tests of a suite, each of which has its own values.
    public var isRecursive: Bool { true }

    /// Runs a test with its own suites.
    ///
    /// - Parameters:
    ///   - test: The test.
    ///   - testCase: The arguments of the test; `nil` for a suite of tests.
    ///   - function: Runs the test.
    /// - Throws: The error of the test.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        // With their names, by which errors distinguish them.
        let suites = names.map { ($0, SettingsSuite(store: InMemoryStore(), name: $0)) }
        try await SettingsSuite.withSuites(Dictionary(suites) { first, _ in first }) {
            try await SettingsSuite.withStandard(.inMemory(), operation: function)
        }
    }
}

extension Trait where Self == IsolatedSettingsTrait {
    /// Replaces the standard suite and the named suites by suites in memory, separately for every test and every set of its
    /// arguments.
    ///
    /// ```swift
    /// @Suite(.isolatedSettings("com.acme.proxy"))
    /// struct ProxyTests {
    ///     @Test func port() {
    ///         let settings = ProxySettings()
    ///         settings.port = 9090               // no other test sees it, and no file is written
    ///     }
    /// }
    /// ```
    ///
    /// Settings take these suites where they are created, so create them in the test. Detached tasks, threads and queues do not
    /// inherit them.
    ///
    /// - Parameter names: The names of the suites to replace, in addition to the standard suite.
    /// - Returns: The trait.
    public static func isolatedSettings(_ names: String...) -> Self {
        IsolatedSettingsTrait(names)
    }

    /// Replaces the standard suite by a suite in memory: see ``isolatedSettings(_:)``.
    public static var isolatedSettings: Self { IsolatedSettingsTrait([]) }
}
