// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

/// A layer that can have a value, in order of precedence.
enum LayerCase: Int, CaseIterable, Sendable {
    case managed, secondManaged, commandLine, environment, secretVariable, secretDirectory, secondSecretDirectory
    case store, otherSuite, secondOtherSuite, lastDropIn, firstDropIn, file, secondFile, systemWide, secondSystemWide,
        fallback, `default`

    static var pairs: [(LayerCase, LayerCase)] {
        allCases.flatMap { high in allCases.filter { $0.rawValue > high.rawValue }.map { (high, $0) } }
    }

    var value: Int { rawValue + 1 }

    var layer: SettingsLayer {
        switch self {
        case .managed, .secondManaged: .managed
        case .commandLine: .commandLine
        case .environment: .environment
        case .secretVariable, .secretDirectory, .secondSecretDirectory: .secretFile
        case .store: .store
        case .otherSuite, .secondOtherSuite, .lastDropIn, .firstDropIn, .file, .secondFile, .systemWide,
            .secondSystemWide:
            .base
        case .fallback: .fallback
        case .default: .default
        }
    }

    /// Where the value is in a directory; `nil` for a layer without files.
    var path: String? {
        switch self {
        case .managed: "managed.json"
        case .secondManaged: "managed2.json"
        case .secretVariable: "variable"
        case .secretDirectory: "secrets/port"
        case .secondSecretDirectory: "secrets2/PORT"
        case .lastDropIn: "settings.d/20.json"
        case .firstDropIn: "settings.d/10.json"
        case .file: "settings.json"
        case .secondFile: "settings2.json"
        case .systemWide: "xdg/acme/settings.json"
        case .secondSystemWide: "xdg2/acme/settings.json"
        default: nil
        }
    }

    var isText: Bool { layer == .secretFile }
}

/// A store with a default of its own.
private final class FallbackStore: SettingsStore {
    private let store: InMemoryStore
    private let value: StoredValue?

    init(_ values: [String: StoredValue], fallback value: StoredValue?) {
        store = InMemoryStore(values)
        self.value = value
    }

    var persistence: SettingsPersistence { store.persistence }
    func setObserver(_ observer: any StoreObserver) { store.setObserver(observer) }
    func version() -> UInt64 { store.version() }
    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        store.withValue(forKey: key, body)
    }
    func fallback(forKey key: String) -> StoredValue? { value }
    func contents() -> [String: StoredValue] { store.contents() }
    func commit<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result { try store.commit(body) }
    func synchronize() {}
}

@Suite("Precedence of layers")
struct LayerPrecedenceTests {
    private func suite(with layers: [LayerCase], in directory: String, isReversed: Bool) throws -> SettingsSuite {
        for layer in layers {
            guard let path = layer.path else { continue }
            try "\(directory)/\(path)".writeLayer(layer.isText ? "\(layer.value)\n" : "{\"port\": \(layer.value),}")
        }
        func has(_ layer: LayerCase) -> Bool { layers.contains(layer) }
        var variables: [String: String] = [:]
        if has(.environment) { variables["ACME_PORT"] = "\(LayerCase.environment.value)" }
        if has(.secretVariable) { variables["ACME_PORT_FILE"] = "\(directory)/variable" }
        var overrides: [[SettingsOverride]] = [
            [.managed("\(directory)/managed.json"), .managed("\(directory)/managed2.json")],
            [.commandLine(has(.commandLine) ? ["--port", "\(LayerCase.commandLine.value)"] : [])],
            [.environment(variables, prefix: "ACME_", files: true)],
            [.secrets(environment: ["CREDENTIALS_DIRECTORY": "\(directory)/secrets"])],
        ]
        overrides[3].append(.secrets(directory: "\(directory)/secrets2"))
        var bases: [[SettingsBase]] = [
            [.directory("\(directory)/settings.d")],
            [.file("\(directory)/settings.json"), .file("\(directory)/settings2.json")],
            [.systemWide(environment: ["XDG_CONFIG_DIRS": "relative:\(directory)/xdg:\(directory)/xdg2"])],
        ]
        bases.append(
            [LayerCase.otherSuite, .secondOtherSuite]
                .map { layer in
                    .suite(.inMemory(has(layer) ? ["port": .integer(Int128(layer.value))] : [:]))
                }
        )
        // The order of the kinds must not matter; the order of two of one kind does.
        if isReversed { (overrides, bases) = (overrides.reversed(), bases.reversed()) }
        let store = FallbackStore(
            has(.store) ? ["port": .integer(Int128(LayerCase.store.value))] : [:],
            fallback: has(.fallback) ? .integer(Int128(LayerCase.fallback.value)) : nil
        )
        return SettingsSuite(
            store: store,
            name: "acme",
            overrides: overrides.flatMap(\.self),
            bases: bases.flatMap(\.self),
            reporter: RecordingReporter()
        )
    }

    @Test("of two layers, the higher one has the value", arguments: LayerCase.pairs, [false, true])
    func pair(_ pair: (LayerCase, LayerCase), isReversed: Bool) async throws {
        let (high, low) = pair
        try await withTemporaryDirectory { directory in
            let suite = try suite(with: [high, low], in: directory, isReversed: isReversed)
            let port = Setting("port", default: LayerCase.default.value, suite: suite)
            #expect(port.value == high.value)
            let explanation = port.explain()
            #expect(explanation.value == high.value)
            #expect(explanation.layer == high.layer)
            #expect(explanation.problem == nil)
            // A stored value, and a base, hide the default of the store.
            let isShown = low.layer != high.layer && low != .default && !(low == .fallback && high == .store)
            if isShown { #expect(explanation.shadowed[low.layer] == low.value) }
        }
    }

    @Test("the highest of all layers has the value, and the explanation names them all")
    func all() async throws {
        try await withTemporaryDirectory { directory in
            let layers = LayerCase.allCases.filter { $0 != .fallback }
            let suite = try suite(with: layers, in: directory, isReversed: false)
            let port = Setting("port", default: LayerCase.default.value, suite: suite)
            #expect(port.value == 1)
            let text = port.explain().description
            #expect(text.hasPrefix("port = 1, given by \(directory)/managed.json:1:10, over 2 given by "))
            #expect(text.contains(", over •••• given by \(directory)/variable, over ••••"))
            #expect(text.contains(", over the stored 8, over 9 given by suite 'in memory', over 10 given by "))
            #expect(text.contains(", over 11 given by \(directory)/settings.d/20.json:1:10, "))
            #expect(text.hasSuffix("over the default 18"))
        }
    }

    @Test("later drop-ins take precedence key by key, and other files in their directory are ignored")
    func dropIns() async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/d/10-a.json".writeLayer(#"{ "$schema": "x", "a": 1, "b": 1 }"#)
            try "\(directory)/d/9.json".writeLayer(#"{ "b": 3 } // the last name"#)
            try "\(directory)/d/20.json.bak".writeLayer("{")
            try "\(directory)/d/.30.json".writeLayer(#"{ "hidden": 1 }"#)
            let suite = SettingsSuite.inMemory(bases: [.directory("\(directory)/d")])
            #expect(Setting("a", default: 0, suite: suite).value == 1)
            #expect(Setting("b", default: 0, suite: suite).value == 3)
            #expect(Setting("hidden", default: 0, suite: suite).value == 0)
            #expect(Setting("$schema", default: "", suite: suite).value == "")
        }
    }

    @Test("the system-wide directory has the name of the suite, or the given one, and stays in its parent")
    func systemWide() async throws {
        try await withTemporaryDirectory { directory in
            let environment = ["XDG_CONFIG_DIRS": "\(directory)/xdg"]
            try "\(directory)/xdg/%2E%2E%2Fup/settings.json".writeLayer(#"{ "port": 1 }"#)
            try "\(directory)/xdg/other/settings.json".writeLayer(#"{ "port": 2 }"#)
            try "\(directory)/up/settings.json".writeLayer(#"{ "port": 3 }"#)
            func port(_ base: SettingsBase) -> Int {
                let suite = SettingsSuite(store: InMemoryStore(), name: "../up", bases: [base])
                return Setting("port", default: 0, suite: suite).value
            }
            #expect(port(.systemWide(environment: environment)) != 3)
            #expect(port(.systemWide(name: "other", environment: environment)) == 2)
            let none: [[String: String]] = [[:], ["XDG_CONFIG_DIRS": ""], ["XDG_CONFIG_DIRS": "relative"]]
            for environment in none {
                let sources = LayerSource.all([], [.systemWide(environment: environment)], suiteName: "acme")
                let expected: [LayerSource] =
                    environment["XDG_CONFIG_DIRS"] == "relative" ? [] : [.base("/etc/xdg/acme/settings.json")]
                #expect(sources == expected)
            }
        }
    }

    @Test("the directory of secrets is that of the service manager, or /run/secrets")
    func secretDirectories() {
        let cases: [([String: String], FilePath)] = [
            (["CREDENTIALS_DIRECTORY": "/run/credentials/acme"], "/run/credentials/acme"),
            ([:], "/run/secrets"), (["CREDENTIALS_DIRECTORY": ""], "/run/secrets"),
            (["CREDENTIALS_DIRECTORY": "relative"], "/run/secrets"),
        ]
        for (environment, expected) in cases {
            let sources = LayerSource.all([.secrets(environment: environment)], [], suiteName: "acme")
            #expect(sources == [.secretDirectory(expected)])
        }
    }

    @Test("layers have the documented names")
    func layerNames() {
        let layers: [SettingsLayer] = [
            .managed, .commandLine, .environment, .secretFile, .store, .base, .fallback, .default,
        ]
        let names = ["managed", "command line", "environment", "secret file", "store", "base", "fallback", "default"]
        #expect(layers.map(\.description) == names)
    }
}

extension String {
    /// Writes a file at this path in place, and creates its directory.
    func writeLayer(_ text: String) throws {
        let directory = URL(fileURLWithPath: self).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try overwriteFile(with: text)
    }
}
