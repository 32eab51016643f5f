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
        case .otherSuite, .secondOtherSuite: .suite
        case .lastDropIn, .firstDropIn, .file, .secondFile, .systemWide, .secondSystemWide: .file
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

    /// The position among all layers, of those with one source in their own order.
    ///
    /// - Parameter isReversed: Whether the list of sources is reversed. Managed files are first all the same, and defaults last.
    /// - Returns: A number; the layer with the lowest one has the value.
    func rank(isReversed: Bool) -> Int {
        let source =
            switch self {
            case .secretVariable: LayerCase.environment.rawValue
            case .firstDropIn: LayerCase.lastDropIn.rawValue
            case .secondSystemWide: LayerCase.systemWide.rawValue
            default: rawValue
            }
        let isFixed = [.managed, .fallback, .default].contains(layer)
        let place = isFixed ? (layer == .managed ? source : 30) : isReversed ? 20 - source : source
        return 100 * place + rawValue
    }
}

@Suite("Precedence of layers")
struct LayerPrecedenceTests {
    private let reporter = RecordingReporter()

    private func suite(with layers: [LayerCase], in directory: String, isReversed: Bool) throws -> SettingsSuite {
        for layer in layers {
            guard let path = layer.path else { continue }
            try "\(directory)/\(path)".writeLayer(layer.isText ? "\(layer.value)\n" : "{\"port\": \(layer.value),}")
        }
        func has(_ layer: LayerCase) -> Bool { layers.contains(layer) }
        var variables: [String: String] = [:]
        if has(.environment) { variables["ACME_PORT"] = "\(LayerCase.environment.value)" }
        if has(.secretVariable) { variables["ACME_PORT_FILE"] = "\(directory)/variable" }
        var suites: [SettingsSource] = []
        for layer in [LayerCase.otherSuite, .secondOtherSuite] {
            suites.append(.suite(.inMemory(has(layer) ? ["port": .integer(Int128(layer.value))] : [:])))
        }
        let sources: [SettingsSource] =
            [
                .managed("\(directory)/managed.json"), .managed("\(directory)/managed2.json"),
                .commandLine(has(.commandLine) ? ["--port", "\(LayerCase.commandLine.value)"] : []),
                .environment(variables, prefix: "ACME_", files: true),
                .secrets(environment: ["CREDENTIALS_DIRECTORY": "\(directory)/secrets"]),
                .secrets(directory: "\(directory)/secrets2"), .stored,
            ] + suites + [
                .directory("\(directory)/settings.d"), .file("\(directory)/settings.json"),
                .file("\(directory)/settings2.json"),
                .systemWide(environment: ["XDG_CONFIG_DIRS": "relative:\(directory)/xdg:\(directory)/xdg2"]),
            ]
        let store = FallbackStore(
            has(.store) ? ["port": .integer(Int128(LayerCase.store.value))] : [:],
            fallback: has(.fallback) ? .integer(Int128(LayerCase.fallback.value)) : nil
        )
        return SettingsSuite(
            store: store,
            name: "acme",
            sources: isReversed ? sources.prefix(2) + sources.dropFirst(2).reversed() : sources,
            reporter: RecordingReporter()
        )
    }

    @Test("of two sources, the first one in the list has the value", arguments: LayerCase.pairs, [false, true])
    func pair(_ pair: (LayerCase, LayerCase), isReversed: Bool) async throws {
        let layers = [pair.0, pair.1].sorted { $0.rank(isReversed: isReversed) < $1.rank(isReversed: isReversed) }
        let (high, low) = (layers[0], layers[1])
        try await withTemporaryDirectory { directory in
            let suite = try suite(with: [high, low], in: directory, isReversed: isReversed)
            let port = Setting("port", default: LayerCase.default.value, suite: suite)
            #expect(port.value == high.value)
            let explanation = port.explain()
            #expect(explanation.value == high.value)
            #expect(explanation.layer == high.layer)
            #expect(explanation.problem == nil)
            // A stored value hides the default of the store.
            let isShown = low.layer != high.layer && low != .default && !(low == .fallback && high == .store)
            if isShown { #expect(explanation.shadowed[low.layer] == low.value) }
        }
    }

    @Test("a list without the store has it before the first suite, directory or file, and otherwise at the end")
    func placeOfStore() async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/base.json".writeLayer(#"{ "port": 2 }"#)
            let file = SettingsSource.file("\(directory)/base.json")
            let other = SettingsSource.suite(.inMemory(["port": 2]))
            let flags = SettingsSource.commandLine(["--port", "3"])
            func port(_ sources: [SettingsSource]) -> Int {
                Setting("port", default: 0, suite: .inMemory(["port": 1], sources: sources, reporter: reporter)).value
            }
            #expect(port([file]) == 1)
            #expect(port([other]) == 1)
            #expect(port([.directory(directory)]) == 1)
            #expect(port([flags]) == 3)
            #expect(port([file, flags]) == 1)
            #expect(port([flags, file]) == 3)
            #expect(port([file, .stored, flags]) == 2)
            #expect(port([.stored, flags]) == 1)
            #expect(port([.stored]) == 1)
            // The kind decides, even if there is no such file or suite.
            #expect(port([.systemWide(environment: ["XDG_CONFIG_DIRS": "relative"]), flags]) == 1)
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test("a managed file that is not the first source, and a second store, are reported")
    func misplaced() async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/managed.json".writeLayer(#"{ "port": 2 }"#)
            let managed = SettingsSource.managed("\(directory)/managed.json")
            let suite = SettingsSuite.inMemory(
                ["port": 1],
                sources: [.commandLine(["--port", "3"]), managed, .stored, .environment([:], prefix: ""), .stored],
                reporter: reporter
            )
            // Creating a suite calls no reporter.
            #expect(reporter.errors.isEmpty)
            #expect(Setting("port", default: 0, suite: suite).value == 2)
            let other = Setting("other", default: 5, suite: suite)
            try await other.set(6)
            #expect(other.value == 6)
            #expect(reporter.errors.map(\.code) == [.conflictingDeclarations, .conflictingDeclarations])
            #expect(reporter.errors.allSatisfy { $0.suite == "in memory" })
            // Once for the suite, not for each setting.
            let catalog = SettingsCatalog(other, Setting("more", default: 0, suite: suite))
            #expect(catalog.findProblems().warnings.count == 2)
            reporter.removeAll()
            let twice = SettingsSuite.inMemory(sources: [.stored, .stored], reporter: reporter)
            #expect(Setting("port", default: 5, suite: twice).value == 5)
            #expect(reporter.errors.map(\.code) == [.conflictingDeclarations])
            reporter.removeAll()
            let sources = [managed, managed, .stored, .commandLine([])]
            let right = SettingsSuite.inMemory(sources: sources, reporter: reporter)
            #expect(Setting("port", default: 0, suite: right).value == 2)
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test("a secret above or beneath the store is used while nothing is set, and no change copies it into the store")
    func secretBeneathStore() async throws {
        struct Access: Codable, Equatable, StoredValueConvertible {
            var user = "none"
            var password = "none"
        }
        try await withTemporaryDirectory { directory in
            try "\(directory)/secrets/database".writeLayer(#"{ "user": "a", "password": "hunter2" }"#)
            try "\(directory)/base.json".writeLayer(#"{ "database": { "user": "b", "password": "c" } }"#)
            let secrets = SettingsSource.secrets(directory: "\(directory)/secrets")
            for sources in [
                [secrets], [.stored, secrets], [.stored, secrets, .file("\(directory)/base.json")],
            ] as [[SettingsSource]] {
                for change in 0..<3 {
                    let suite = SettingsSuite.inMemory(sources: sources, reporter: reporter)
                    let setting = Setting("database", default: Access(), suite: suite)
                    #expect(setting.value == Access(user: "a", password: "hunter2"))
                    #expect(!setting.explain().description.contains("hunter2"))
                    switch change {
                    case 0: try await setting.update { $0.user = "d" }
                    case 1: try await suite.transaction { $0[setting].user = "d" }
                    default: setting.value.user = "d"
                    }
                    #expect(suite[storedValueFor: "database"] == ["user": "d"])
                    #expect(setting.value.password == "hunter2")
                    #expect(!setting.explain().description.contains("hunter2"))
                    #expect(SettingsCatalog(setting)[0].text == "••••")
                }
            }
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test("a text stores no part of a secret beneath the store, and the text that hides a secret is no value")
    func textOverSecret() async throws {
        struct Limits: Codable, Equatable, StoredValueConvertible {
            var low = 1
            var high = 2
        }
        try await withTemporaryDirectory { directory in
            try "\(directory)/limits".writeLayer(#"{ "low": 5, "high": 7 }"#)
            let suite = SettingsSuite.inMemory(sources: [.stored, .secrets(directory: directory)], reporter: reporter)
            let limits = Setting("limits", default: Limits(), suite: suite)
            let token = Setting("token", default: "", suite: suite)
            let catalog = SettingsCatalog(limits, token)
            await expectError(.invalidValue) { try await catalog[1].set(text: "••••") }
            #expect(suite.keys.isEmpty)
            try catalog[0].check(text: "low=6")
            try await catalog[0].set(text: "low=6")
            #expect(suite[storedValueFor: "limits"] == ["low": 6])
            #expect(limits.value == Limits(low: 6, high: 7))
            try await catalog[0].set(text: #"{ "low": 6, "high": 8 }"#)
            #expect(limits.value == Limits(low: 6, high: 8))
        }
    }

    @Test("a file above the store hides what is set, and a flag beneath it is used until something is set")
    func unusualPlaces() async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/forced.json".writeLayer(#"{ "port": 2 }"#)
            let suite = SettingsSuite.inMemory(
                sources: [
                    .file("\(directory)/forced.json"), .stored, .commandLine(["--port", "3", "--name", "given"]),
                ],
                reporter: reporter
            )
            let (port, name) = (Setting("port", default: 0, suite: suite), Setting("name", default: "", suite: suite))
            #expect(port.explain().description.hasPrefix("port = 2, given by \(directory)/forced.json:1:"))
            // An update works on the value beneath the file.
            #expect(try await port.update { $0 += 1 } == 4)
            #expect(port.value == 2)
            #expect(port.explain().shadowed == [.store: 4, .commandLine: 3, .default: 0])
            #expect(name.value == "given" && !name.isSet)
            name.value = "set"
            #expect(name.value == "set")
            try "\(directory)/forced.json".writeLayer("{}")
            await eventually("the file is read again") { port.value == 4 }
            #expect(reporter.errors.isEmpty)
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
            let suite = SettingsSuite.inMemory(sources: [.directory("\(directory)/d")])
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
            func port(_ base: SettingsSource) -> Int {
                let suite = SettingsSuite(store: InMemoryStore(), name: "../up", sources: [base])
                return Setting("port", default: 0, suite: suite).value
            }
            #expect(port(.systemWide(environment: environment)) != 3)
            #expect(port(.systemWide(name: "other", environment: environment)) == 2)
            let none: [[String: String]] = [[:], ["XDG_CONFIG_DIRS": ""], ["XDG_CONFIG_DIRS": "relative"]]
            for environment in none {
                let sources = SettingsSource.systemWide(environment: environment).resolved(suiteName: "acme")
                let expected: [LayerSource] =
                    environment["XDG_CONFIG_DIRS"] == "relative" ? [] : [.file("/etc/xdg/acme/settings.json")]
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
            let sources = SettingsSource.secrets(environment: environment).resolved(suiteName: "acme")
            #expect(sources == [.secretDirectory(expected)])
        }
    }

    @Test("layers have the documented names")
    func layerNames() {
        let layers: [SettingsLayer] = [
            .managed, .commandLine, .environment, .secretFile, .store, .suite, .file, .fallback, .default,
        ]
        let names = [
            "managed", "command line", "environment", "secret file", "store", "suite", "file", "fallback", "default",
        ]
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
