// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Testing

@testable import StoredSettings

/// A stored value, the default of its setting, and the value that the setting must return.
struct CompletionCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The stored value as JSON.
    let json: String
    private let run: @Sendable (SettingsSuite, RecordingReporter) throws -> Void

    /// - Parameters:
    ///   - description: What the value shows.
    ///   - json: The stored value.
    ///   - value: The default.
    ///   - expected: The value.
    init<Value: StoredValueConvertible & Equatable>(
        _ description: String,
        _ json: String,
        over value: Value,
        is expected: Value
    ) {
        self.init(description, json, over: value, is: expected, at: []) {
            DefaultStorage(wrappedValue: value, key: "key", suite: $0)
        }
    }

    /// A stored value that cannot be used, with the path in its error.
    static func unusable<Value: StoredValueConvertible & Equatable>(
        _ description: String,
        _ json: String,
        over value: Value,
        at path: SettingsError.PathComponent...
    ) -> CompletionCase {
        CompletionCase(description, json, over: value, is: nil, at: path) {
            DefaultStorage(wrappedValue: value, key: "key", suite: $0)
        }
    }

    /// A stored value that is read with a bridge; `nil` is expected if it cannot be used.
    init<Value: Sendable & Equatable>(
        _ description: String,
        _ json: String,
        over value: Value,
        by bridge: some StoredValueBridge<Value>,
        is expected: Value?
    ) {
        self.init(description, json, over: value, is: expected, at: []) {
            DefaultStorage(wrappedValue: value, key: "key", suite: $0, as: bridge)
        }
    }

    private init<Value: Sendable & Equatable>(
        _ description: String,
        _ json: String,
        over value: Value,
        is expected: Value?,
        at path: [SettingsError.PathComponent],
        _ declare: @escaping @Sendable (SettingsSuite) -> DefaultStorage<Value>
    ) {
        testDescription = description
        self.json = json
        run = { suite, reporter in
            let stored = try #require(suite[storedValueFor: "key"])
            let storage = declare(suite)
            let setting = storage.projectedValue
            #expect(storage.wrappedValue == expected ?? value)
            #expect(setting.isSet)
            if let expected {
                #expect(reporter.errors.isEmpty)
                #expect(try setting.load() == expected)
                let explanation = setting.explain()
                #expect(explanation.value == expected)
                #expect(explanation.layer == .store)
                #expect(explanation.problem == nil)
                #expect(try suite.transaction { try $0.value(of: setting) } == expected)
            } else {
                #expect(reporter.errors.map(\.path) == [path])
                #expect(throws: SettingsError.self) { try setting.load() }
                #expect(setting.explain().layer == .default)
                #expect(throws: SettingsError.self) { try suite.transaction { try $0.value(of: setting) } }
            }
            // Reading stores nothing.
            #expect(suite[storedValueFor: "key"] == stored)
        }
    }

    /// Checks every way to read the setting in a suite that holds the stored value.
    func check(in suite: SettingsSuite, _ reporter: RecordingReporter) throws {
        try run(suite, reporter)
    }

    /// The stored value.
    var storedValue: StoredValue {
        get throws { try JSONReader.read(Array(json.utf8)) }
    }
}
