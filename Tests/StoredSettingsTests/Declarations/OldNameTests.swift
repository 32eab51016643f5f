// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Testing

@testable import StoredSettings

@Suite("Flags and variables of old keys")
struct OldNameTests {
    private let reporter = RecordingReporter()

    private func limit(
        _ arguments: [String] = [],
        _ variables: [String: String] = [:],
        traits: SettingTraits = []
    ) -> Setting<Int> {
        let suite = SettingsSuite.inMemory(
            sources: [.commandLine(arguments), .environment(variables, prefix: "X_")],
            reporter: reporter
        )
        let renamed = SettingTraits.renamed(from: "max_conn", "limit")
        return Setting("maxConnections", default: 1, suite: suite, traits: [renamed, traits])
    }

    @Test(
        "are used, and reported once with the new name",
        arguments: [
            (["--max-conn", "5"], "--max-conn", "--max-connections"),
            (["-max_conn=5"], "-max_conn", "--max-connections"),
            (["--limit", "6", "--limit", "5"], "--limit", "--max-connections"),
        ]
    )
    func flags(_ arguments: [String], _ old: String, _ new: String) throws {
        let limit = limit(arguments)
        #expect(limit.value == 5)
        #expect(Setting(SettingKey<String>("max", default: ""), suite: limit.suite).value == "")
        #expect(limit.explain().source == old)
        let error = try #require(reporter.errors.first)
        #expect(reporter.errors.count == 1)
        #expect(error.code == .deprecatedKey && error.key == "maxConnections")
        #expect(error.fact.hasPrefix(old + " ") && error.remedy == "use \(new)")
        #expect(!error.message.contains("5"))
    }

    @Test("of variables are used as well, and those of new keys win")
    func variables() {
        #expect(limit([], ["X_MAX_CONN": "5"]).value == 5)
        #expect(reporter.errors.map(\.remedy) == ["use X_MAX_CONNECTIONS"])
        reporter.removeAll()
        #expect(limit(["--max-conn", "2", "--max-connections", "3"], ["X_LIMIT": "4"]).value == 3)
        #expect(limit([], ["X_LIMIT": "4", "X_MAX_CONN": "5", "X_MAX_CONNECTIONS": "6"]).value == 6)
        #expect(reporter.errors.map(\.remedy) == ["use X_MAX_CONNECTIONS"], "X_LIMIT is given, though hidden")
    }

    @Test("are used beside names that traits give")
    func named() {
        #expect(limit(["--limit", "5"], traits: .flag("connections")).value == 5)
        #expect(limit([], ["X_LIMIT": "5"], traits: .environment("CONNECTIONS")).value == 5)
        #expect(reporter.errors.map(\.remedy) == ["use --connections", "use CONNECTIONS"])
        #expect(limit([], ["X_MAX_CONNECTIONS": "5"], traits: .environment("CONNECTIONS")).value == 1)
    }

    @Test("are reported by validation as warnings, and are not unknown")
    func validation() throws {
        let found = SettingsCatalog(limit(["--limit", "2"], ["X_MAX_CONN": "5", "X_OTHER": ""])).findProblems()
        #expect(found.errors.map(\.code) == [.unknownVariable])
        #expect(found.warnings.map(\.code) == [.deprecatedKey, .deprecatedKey])
        #expect(reporter.errors.isEmpty)
    }

    @Test("with an unusable value are named in its error")
    func unusable() {
        let limit = limit(["--limit", "x"])
        #expect(limit.value == 1)
        #expect(reporter.errors.first?.fact.hasPrefix("--limit cannot be used") == true)
    }

    @Test("that are equal to the new names are not old")
    func equal() {
        let suite = SettingsSuite.inMemory(
            sources: [.commandLine(["--max-conn", "5"]), .environment(["X_MAX_CONN": "6"], prefix: "X_")],
            reporter: reporter
        )
        let setting = Setting("maxConn", default: 1, suite: suite, traits: .renamed(from: "max_conn"))
        #expect(setting.value == 5)
        #expect(reporter.errors.isEmpty)
        #expect(SettingsCatalog(setting).findProblems().warnings.isEmpty)
    }
}

@Suite("Flags and variables of several settings")
struct SharedNameTests {
    private func conflicts(_ settings: (SettingsSuite) -> [Any]) -> [String] {
        let suite = SettingsSuite.inMemory(sources: [.commandLine([]), .environment([:], prefix: "X_")])
        var search = CatalogSearch()
        for setting in settings(suite) { search.visit(setting) }
        search.finish()
        #expect(search.conflicts.allSatisfy { $0.code == .conflictingDeclarations } as Bool)
        return search.conflicts.map { String($0.fact.prefix { $0 != " " }) }
    }

    @Test("are an error of the catalog if they are the same")
    func shared() throws {
        let both = conflicts {
            [Setting("logLevel", default: 1, suite: $0), Setting("log.level", default: 1, suite: $0)]
        }
        #expect(both == ["--log-level", "X_LOG_LEVEL"])
        let named = conflicts {
            [Setting("a", default: 1, suite: $0, traits: .flag("b")), Setting("b", default: 1, suite: $0)]
        }
        #expect(named == ["--b"])
        let old = conflicts {
            [
                Setting("a", default: 1, suite: $0, traits: .renamed(from: "b_c")),
                Setting("bC", default: 1, suite: $0),
            ]
        }
        #expect(old == ["--b-c", "X_B_C"])
    }

    @Test("are an error if one negates the other, for a Boolean alone")
    func negated() {
        let boolean = conflicts { [Setting("c", default: true, suite: $0), Setting("noC", default: 1, suite: $0)] }
        #expect(boolean == ["--no-c"])
        let number = conflicts { [Setting("c", default: 1, suite: $0), Setting("noC", default: 1, suite: $0)] }
        #expect(number.isEmpty)
    }

    @Test("are no error without overrides, in another suite, or for a declaration that is repeated")
    func separate() {
        #expect(
            conflicts {
                [
                    Setting("logLevel", default: 1, suite: $0), Setting("logLevel", default: 1, suite: $0),
                    Setting("log.level", default: 1, suite: .inMemory(sources: [.commandLine([])])),
                ]
            }
            .isEmpty
        )
        let suite = SettingsSuite.inMemory()
        let catalog = SettingsCatalog(
            Setting("logLevel", default: 1, suite: suite),
            Setting("log.level", default: 1, suite: suite)
        )
        #expect(catalog.findProblems().errors.isEmpty)
    }
}
