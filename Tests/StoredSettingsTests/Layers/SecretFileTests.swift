// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Secret files", .deadlockLimit)
struct SecretFileTests {
    private let reporter = RecordingReporter()

    @Test(
        "a secret is found under every spelling of its key",
        arguments: [
            ("db.password", "db.password"), ("db.password", "DB_PASSWORD"), ("db.password", "db_password"),
            ("db.password", "db-password"), ("db.password", "ACME_DB_PASSWORD"), ("db.password", "acme_db_password"),
            ("dbPassword", "dbPassword"), ("dbPassword", "DB_PASSWORD"), ("dbPassword", "db-password"),
            ("api token", "api token"), ("own", "OWN_NAME"),
        ]
    )
    func names(_ key: String, _ file: String) async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/\(file)".writeLayer("hidden")
            let traits: SettingTraits = key == "own" ? .environment("OWN_NAME") : []
            let suite = SettingsSuite.inMemory(
                sources: [.secrets(directory: directory), .environment([:], prefix: "ACME_")],
                reporter: reporter
            )
            #expect(Setting(key, default: "", suite: suite, traits: traits).value == "hidden")
            #expect(Setting("other", default: "", suite: suite).value == "")
        }
    }

    @Test(
        "the secret of a renamed setting is found under its old key, after the new one",
        arguments: [
            (["dbPass"], "dbPass"), (["DB_PASS"], "DB_PASS"), (["acme_db_pass"], "acme_db_pass"),
            (["db-pass", "older"], "db-pass"), (["older"], "older"),
            (["dbPass", "database-password"], "database-password"),
        ]
    )
    func renamed(_ files: [String], _ used: String) async throws {
        try await withTemporaryDirectory { directory in
            for file in files { try "\(directory)/\(file)".writeLayer(file) }
            let traits: SettingTraits = .renamed(from: "dbPass", "older")
            func value(_ sources: [SettingsSource]) -> String {
                let suite = SettingsSuite.inMemory(sources: sources, reporter: reporter)
                return Setting("databasePassword", default: "", suite: suite, traits: traits).value
            }
            #expect(value([.secrets(directory: directory), .environment([:], prefix: "ACME_")]) == used)
            let old = ["ACME_DB_PASS_FILE": "\(directory)/\(files[0])"]
            #expect(value([.environment(old, prefix: "ACME_", files: true)]) == files[0])
            let both = old.merging(["ACME_DATABASE_PASSWORD_FILE": "\(directory)/\(used)"]) { $1 }
            #expect(value([.environment(both, prefix: "ACME_", files: true)]) == used)
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test("no key leaves the directory")
    func order() async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/outside".writeLayer("no")
            try "\(directory)/secrets/a.b".writeLayer("1")
            let suite = SettingsSuite.inMemory(
                sources: [.secrets(directory: "\(directory)/secrets")],
                reporter: reporter
            )
            #expect(Setting("a.b", default: "", suite: suite).value == "1")
            for key in ["../outside", "..", ".", "secrets/a.b", "x\0y", "/"] {
                #expect(Setting(key, default: "none", suite: suite).value == "none")
            }
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test(
        "a byte order mark and one line break at the end are removed, and the rest is the value",
        arguments: [
            ("a", "a"), ("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), (" a ", " a "), ("", ""), ("\n", ""),
            ("a\nb\n", "a\nb"), ("\u{FEFF}a\r\n", "a"), ("\u{FEFF}", ""), ("a\u{FEFF}", "a\u{FEFF}"),
        ]
    )
    func contents(_ text: String, _ value: String) async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/token".writeLayer(text)
            let suite = SettingsSuite.inMemory(sources: [.secrets(directory: directory)], reporter: reporter)
            #expect(Setting("token", default: "none", suite: suite).value == value)
        }
    }

    private struct Settings: Sendable {
        @DefaultStorage var token: Token
        @DefaultStorage var count: Int
        @DefaultStorage var list: [Int]

        init(_ suite: SettingsSuite) {
            _token = DefaultStorage(
                wrappedValue: Token(),
                key: "token",
                suite: suite,
                validate: { value in
                    if value.text.hasPrefix("hunter") { throw Refusal(text: value.text) }
                    return true
                }
            )
            _count = DefaultStorage(wrappedValue: 1, key: "count", suite: suite, in: 1...5)
            _list = DefaultStorage(wrappedValue: [], key: "list", suite: suite)
        }
    }

    private struct Token: StoredValueConvertible, RawRepresentable, Sendable {
        var rawValue = "none"
        var text: String { rawValue }

        init() {}
        init(rawValue: String) { self.rawValue = rawValue }
    }

    private struct Refusal: Error, CustomStringConvertible {
        var text: String
        var description: String { "refused \(text)" }
    }

    @Test("no error, explanation or text contains the contents of a secret file")
    func redaction() async throws {
        try await withTemporaryDirectory { directory in
            let texts = ["token": "hunter2", "count": "hunter3", "list": "[hunter4"]
            for (name, text) in texts { try "\(directory)/\(name)".writeLayer(text) }
            try Data([0x68, 0x75, 0x6E, 0x74, 0x65, 0x72, 0xFF]).write(to: URL(fileURLWithPath: "\(directory)/broken"))
            let suite = SettingsSuite.inMemory(sources: [.secrets(directory: directory)], reporter: reporter)
            let settings = Settings(suite)
            let broken = Setting("broken", default: "none", suite: suite)
            #expect((settings.token.text, settings.count, settings.list) == ("none", 1, []))
            #expect(broken.value == "none")
            #expect(reporter.errors.count == 4)
            let catalog = SettingsCatalog(settings)
            let problems = catalog.findProblems().errors
            #expect(problems.count == 3)
            var output = (reporter.errors + problems).map { "\($0.message) \(String(describing: $0.underlying))" }
            output += [catalog.explain(), broken.explain().description]
            #expect(output.allSatisfy { !$0.contains("hunter") && !$0.contains("refused") })
            #expect(reporter.errors.allSatisfy { $0.location?.file.hasPrefix(directory) == true })
        }
    }

    @Test("a usable secret is not shown, even if its setting is not declared as secret")
    func shown() async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/host".writeLayer("hunter2")
            let suite = SettingsSuite.inMemory(["host": "stored"], sources: [.secrets(directory: directory)])
            let host = Setting("host", default: "none", suite: suite)
            let any = AnySetting(host, declaration: "host")
            #expect(host.value == "hunter2")
            #expect(any.text == "••••")
            #expect(any.defaultText == "none")
            var texts = any.texts.makeAsyncIterator()
            #expect(await texts.next() == "••••")
            #expect(
                any.explain()
                    == "host = ••••, given by \(directory)/host, over the stored \"stored\", over the default \"none\""
            )
        }
    }

    @Test("the description of a change contains no value while one of them is from a secret file")
    func changes() async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/host".writeLayer("hunter2")
            let suite = SettingsSuite.inMemory(["host": "stored"], sources: [.secrets(directory: directory)])
            let host = Setting("host", default: "none", suite: suite)
            let seen = Mutex<[(new: String, text: String)]>([])
            let observation = host.observe(initial: true) { change in
                let text = "\(change) \(Mirror(reflecting: change).children.map(\.label))"
                seen.withLock { $0.append((change.new, text)) }
            }
            var changes = host.changes().makeAsyncIterator()
            try FileManager.default.removeItem(atPath: "\(directory)/host")
            let removal = try #require(await changes.next())
            #expect(removal.new == "stored")
            #expect(!"\(removal)".contains("hunter2"))
            try await host.set("other")
            let change = try #require(await changes.next())
            #expect("\(change)".contains("other"))
            // The observer may receive both changes as one, whose text has no value.
            await eventually("the observer is called") { seen.withLock { $0.last?.new == "other" } }
            #expect(seen.withLock { $0.allSatisfy { !$0.text.contains("hunter2") } })
            observation.invalidate()
        }
    }

    @Test("a variable names a file only if that is wanted, and a missing file is reported")
    func variables() async throws {
        try await withTemporaryDirectory { directory in
            let file = "\(directory)/token"
            try file.writeLayer("from file")
            func token(_ variables: [String: String], files: Bool = true, name: String? = nil) -> String {
                let override = SettingsSource.environment(variables, prefix: "ACME_", files: files)
                let suite = SettingsSuite.inMemory(sources: [override], reporter: reporter)
                let traits: SettingTraits = name.map { .environment($0) } ?? []
                return Setting("token", default: "none", suite: suite, traits: traits).value
            }
            #expect(token(["ACME_TOKEN_FILE": file]) == "from file")
            #expect(token(["ACME_TOKEN_FILE": file], files: false) == "none")
            #expect(token(["ACME_TOKEN_FILE": file, "ACME_TOKEN": "variable"]) == "variable")
            #expect(token(["OWN_FILE": file], name: "OWN") == "from file")
            #expect(token(["ACME_TOKEN_FILE": ""]) == "none")
            #expect(reporter.errors.isEmpty)
            #expect(token(["ACME_TOKEN_FILE": "\(directory)/missing"]) == "none")
            #expect(reporter.errors.map(\.code) == [.readFailed])
            #expect(reporter.errors.first?.location?.file == "\(directory)/missing")
        }
    }

    @Test("the error of a file that a variable names has the variable and the file")
    func variableInErrors() async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/wrong".writeLayer("s3cret")
            try Data([0xFF]).write(to: URL(filePath: "\(directory)/binary"))
            let facts = [
                ("missing", "does not exist"), ("", "cannot be used: the file cannot be read: Is a directory"),
                ("wrong", "cannot be used: expected an integer, found a string"),
                ("binary", "cannot be used: "), ("/dev/null", "cannot be used: the file cannot be read: "),
            ]
            for (name, fact) in facts {
                reporter.removeAll()
                let file = name.isEmpty ? directory : name.hasPrefix("/") ? name : "\(directory)/\(name)"
                let override = SettingsSource.environment(["ACME_PORT_FILE": file], prefix: "ACME_", files: true)
                let suite = SettingsSuite.inMemory(sources: [override], reporter: reporter)
                #expect(Setting("port", default: 80, suite: suite).value == 80)
                let error = try #require(reporter.errors.first)
                #expect(error.fact.hasPrefix("the file that ACME_PORT_FILE names \(fact)"))
                #expect(error.message.contains("(\(file)): the file that ACME_PORT_FILE names"))
                #expect(error.remedy.hasSuffix(", or unset ACME_PORT_FILE"))
                #expect(!error.message.contains("s3cret"))
            }
        }
    }

    @Test("a directory in the place of a secret is reported")
    func directory() async throws {
        try await withTemporaryDirectory { directory in
            try FileManager.default.createDirectory(atPath: directory + "/token", withIntermediateDirectories: false)
            let suite = SettingsSuite.inMemory(sources: [.secrets(directory: directory)], reporter: reporter)
            #expect(Setting("token", default: "none", suite: suite).value == "none")
            #expect(reporter.errors.map(\.location?.file) == ["\(directory)/token"])
            #expect(reporter.errors.first?.remedy.contains("Docker") == true)
        }
    }

    @Test("a directory of secrets that cannot be used is one problem for all settings", arguments: [0, 1, 2])
    func unusableDirectory(kind: Int) async throws {
        try await withTemporaryDirectory { directory in
            let place = directory + "/secrets"
            switch kind {
            case 0: try place.writeLayer("no directory")
            case 1: try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: place)
            default:
                // Root may enter it.
                guard geteuid() != 0 else { return }
                try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
                #expect(chmod(place, 0) == 0)
            }
            let sources = [SettingsSource.secrets(directory: place), .environment([:], prefix: "ACME_")]
            let suite = SettingsSuite.inMemory(sources: sources, reporter: reporter)
            for key in ["a", "b.c", "token"] { #expect(Setting(key, default: "none", suite: suite).value == "none") }
            #expect(reporter.errors.map(\.location?.file) == [place], "\(reporter.errors)")
            let settings = [Setting("a", default: "", suite: suite), Setting("token", default: "", suite: suite)]
            #expect(SettingsCatalog(settings[0], settings[1]).findProblems().errors.count == 1)
            chmod(place, 0o700)
            guard kind < 2 else { return }
            try FileManager.default.removeItem(atPath: place)
            try "\(place)/token".writeLayer("s3cret")
            await eventually("the secret is read") { settings[1].value == "s3cret" }
        }
    }

    @Test("validation knows the variables that name files")
    func validation() {
        let variables = ["ACME_TOKEN_FILE": "/dev/null", "ACME_TOKE_FILE": "/dev/null"]
        for (files, expected) in [(true, ["ACME_TOKE_FILE"]), (false, ["ACME_TOKEN_FILE", "ACME_TOKE_FILE"])] {
            let override = SettingsSource.environment(variables, prefix: "ACME_", files: files)
            let suite = SettingsSuite.inMemory(sources: [override], reporter: reporter)
            let catalog = SettingsCatalog(Settings(suite))
            let unknown = catalog.findProblems().errors.filter { $0.code == .unknownVariable }.map(\.fact)
            #expect(Set(unknown) == Set(expected.map { "no setting has the environment variable \($0)" }))
        }
    }

    #if os(Linux)
    @Test("of several names of one secret, the first in the documented order is used")
    func orderOfNames() async throws {
        try await withTemporaryDirectory { directory in
            let names = [
                "db.password", "OWN", "ACME_DB_PASSWORD", "acme_db_password", "DB_PASSWORD", "db_password",
                "db-password",
            ]
            for name in names { try "\(directory)/\(name)".writeLayer(name) }
            for name in names {
                let suite = SettingsSuite.inMemory(
                    sources: [.secrets(directory: directory), .environment([:], prefix: "ACME_")],
                    reporter: reporter
                )
                #expect(Setting("db.password", default: "", suite: suite, traits: .environment("OWN")).value == name)
                try FileManager.default.removeItem(atPath: "\(directory)/\(name)")
            }
        }
    }
    #endif

    @Test(
        "the failure of a rotation is reported once, and the last good secret remains in use",
        arguments: [true, false]
    )
    func failedRotation(isObserved: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/token"
            try path.writeLayer("old")
            let suite = SettingsSuite.inMemory(sources: [.secrets(directory: directory)], reporter: reporter)
            let token = Setting("token", default: "", suite: suite, traits: .secret)
            #expect(token.value == "old")
            let observation = isObserved ? token.observe { _ in } : nil
            try "\(directory)/.new".writeLayer("")
            try Data([0xFF]).write(to: URL(fileURLWithPath: "\(directory)/.new"))
            #expect(rename("\(directory)/.new", path) == 0)
            await eventually("the failure is reported") {
                _ = token.value
                return reporter.errors.map(\.consequence) == ["its last good value is used"]
            }
            #expect(token.value == "old" && reporter.errors[0].location?.file == path)
            #expect(SettingsCatalog(token).findProblems().errors.map(\.fact) == reporter.errors.map(\.fact))
            try path.replaceFile(with: "new")
            await eventually("the new secret is used, and the recovery is reported") {
                token.value == "new" && reporter.recoveries.count == 1
            }
            #expect(reporter.errors.count == 1)
            observation?.invalidate()
        }
    }

    @Test("a secret of more than 1 MiB is reported and not used, and other files are not read")
    func largest() async throws {
        try await withTemporaryDirectory { directory in
            let limit = 1 << 20
            try "\(directory)/fits".writeLayer(String(repeating: "a", count: limit))
            try "\(directory)/large".writeLayer(String(repeating: "a", count: limit + 1))
            try Data([0xFF]).write(to: URL(fileURLWithPath: "\(directory)/other"))
            let suite = SettingsSuite.inMemory(sources: [.secrets(directory: directory)], reporter: reporter)
            #expect(Setting("fits", default: "", suite: suite).value.utf8.count == limit)
            #expect(Setting("large", default: "none", suite: suite).value == "none")
            #expect(reporter.errors.map { $0.location?.file } == ["\(directory)/large"])
        }
    }
}

@Suite("Variables that belong to a setting and look like those that name files")
struct TakenVariableTests {
    private let reporter = RecordingReporter()

    private func suite(_ variables: [String: String], _ prefix: String = "ACME_") -> SettingsSuite {
        .inMemory(sources: [.environment(variables, prefix: prefix, files: true)], reporter: reporter)
    }

    @Test(
        "name no file for another setting, and the pair is reported once",
        arguments: [
            ("log", "log.file", []), ("log", "logFile", []), ("log", "other", .environment("ACME_LOG_FILE")),
            ("log", "new", .renamed(from: "log_file")), ("a.log", "a.log.file", []),
        ] as [(String, String, SettingTraits)]
    )
    func taken(_ key: String, _ owner: String, _ traits: SettingTraits) async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/log"
            try path.writeLayer("s3cret")
            let variable = key == "log" ? "ACME_LOG_FILE" : "ACME_A_LOG_FILE"
            let suite = suite([variable: path])
            let log = Setting(key, default: "none", suite: suite)
            let file = Setting(owner, default: "none", suite: suite, traits: traits)
            for _ in 0..<2 {
                #expect(log.value == "none")
                #expect(Setting(key, default: "other", suite: suite).value == "other")
                #expect(file.value == path)
            }
            let errors = reporter.errors.filter { $0.code == .conflictingDeclarations }
            #expect(errors.map(\.key) == [key])
            #expect(errors.first?.fact == "\(variable) is the variable of the setting '\(owner)'")
            #expect(errors.first?.message.contains("s3cret") == false)
        }
    }

    @Test("are found by validation as a warning, which a later read does not repeat")
    func validation() async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/log".writeLayer("text")
            let suite = suite(["ACME_LOG_FILE": "\(directory)/log"])
            let log = Setting("log", default: 1, suite: suite)
            let catalog = SettingsCatalog(log, Setting("logFile", default: "none", suite: suite))
            #expect(catalog.findProblems().errors.isEmpty)
            #expect(catalog.findProblems().warnings.map(\.key) == ["log"])
            try catalog.validate()
            #expect(log.value == 1)
            #expect(reporter.errors.map(\.code) == [.conflictingDeclarations])
        }
    }

    @Test("count from the declaration of their setting on, also after the other one was read")
    func later() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/log"
            try path.writeLayer("text")
            let suite = suite(["ACME_LOG_FILE": path])
            let log = Setting("log", default: "none", suite: suite)
            #expect(log.value == "text")
            #expect(Setting("log.file", default: "none", suite: suite).value == path)
            #expect(log.value == "none")
        }
    }

    @Test("are reported for no other setting, and a setting that has only a file is read from it")
    func others() async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/token".writeLayer("text")
            let suite = suite(["ACME_TOKEN_FILE": "\(directory)/token", "ACME_LOG_FILE": ""])
            #expect(Setting("log.file", default: "none", suite: suite).value == "")
            #expect(Setting("log", default: "none", suite: suite).value == "none")
            #expect(Setting("token", default: "none", suite: suite).value == "text")
            let other = self.suite(["OTHER_TOKEN_FILE": "\(directory)/token"], "OTHER_")
            #expect(Setting("token", default: "none", suite: other).value == "text")
            #expect(reporter.errors.isEmpty)
        }
    }
}
