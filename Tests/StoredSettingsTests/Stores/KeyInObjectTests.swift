// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A key with periods in an object of a file", .deadlockLimit)
struct KeyInObjectTests {
    private let reporter = RecordingReporter()

    struct Database: Sendable {
        @DefaultStorage(key: "host") var host = "localhost"
        @DefaultStorage(key: "port", in: 1...65_535) var port = 5432
        @DefaultStorage(key: "pool.size") var poolSize = 4
    }

    private final class LastValue: Sendable {
        private let stored: Mutex<Int>

        init(_ value: Int) { stored = Mutex(value) }

        var value: Int { stored.withLock(\.self) }

        func set(_ value: Int) { stored.withLock { $0 = value } }
    }

    /// A program with the group `db` in a settings file.
    private final class Program: Sendable {
        let store: FileStore
        let suite: SettingsSuite
        let database: Database
        let path: String

        init(_ path: String, _ reporter: RecordingReporter) {
            self.path = path
            store = FileStore(path: FilePath(path))
            let suite = SettingsSuite(store: store, reporter: reporter)
            (self.suite, database) = (suite, suite.group("db") { Database() })
        }

        /// Edits the file as a person does, and has the store read it.
        func edit(_ text: String) throws {
            try path.replaceFile(with: text)
            store.lookAndWait()
        }
    }

    private func withProgram(
        _ text: String?,
        _ body: (_ program: Program) async throws -> Void
    ) async throws {
        try await withSettingsPath(inMemory: true) { path in
            if let text { try path.replaceFile(with: text) }
            let program = Program(path, reporter)
            try await body(program)
            program.store.close()
        }
    }

    @Test(
        "is found under its own name, and otherwise in the object with the longest name",
        arguments: [
            (#"{"db.pool.size": 1, "db": {"pool.size": 2}, "db.pool": {"size": 3}}"#, 1),
            (#"{"db": {"pool.size": 2, "pool": {"size": 4}}, "db.pool": {"size": 3}}"#, 3),
            (#"{"db": {"pool": {"size": 4}, "pool.size": 2}}"#, 2),
            (#"{"db": {"pool": {"size": 4}}}"#, 4),
            (#"{"db": {"pool": {"size": null}}, "db.pool": [3]}"#, 4),
            (#"{"db": {"pool": [5]}, "db.": {"pool.size": 9}, "": {"db.pool.size": 9}}"#, 4),
        ]
    )
    func reading(text: String, size: Int) async throws {
        try await withProgram(text) { program in
            #expect(program.database.poolSize == size)
            #expect(program.database.poolSize == size)
        }
    }

    @Test("has the same value, place and problems in a file of any source", arguments: [true, false])
    func sources(isManaged: Bool) async throws {
        let text = "{\n  \"db\": {\n    \"host\": \"a\", \"port\": 70000,\n    \"hots\": 1\n  }\n}"
        let source = isManaged ? SettingsSource.managed : SettingsSource.file
        try await withLayer(text, as: source, under: ["db.host": "c"], reporter: reporter) { suite, path in
            let database = suite.group("db") { Database() }
            #expect(database.host == (isManaged ? "a" : "c"))
            #expect(database.port == 5432)
            let problems = SettingsCatalog(database).findProblems().errors
            #expect(problems.map(\.key) == ["db.port", "db.hots"])
            #expect(problems.map(\.location?.line) == [3, 4])
            do {
                try await database.$host.set("b")
                #expect(!isManaged)
            } catch let error as SettingsError {
                #expect(isManaged && error.code == .managed && error.location?.line == 3)
            }
            var changes = database.$port.changes().makeAsyncIterator()
            try path.replaceFile(with: #"{"db": {"host": "a", "port": 1}}"#)
            #expect(await changes.next()?.new == 1)
            #expect(database.$port.explain().source == path + ":1:30")
        }
    }

    /// The ways to change a setting.
    static let changes: [(String, @Sendable (Setting<Int>) async throws -> Void)] = [
        ("set", { try await $0.set(1) }), ("assignment", { $0.value = 1 }),
        ("update", { try await $0.update { $0 = 1 } }),
        ("transaction", { setting in try await setting.suite.transaction { $0[setting] = 1 } }),
        ("stored value", { try await $0.suite.setStoredValue(1, forKey: $0.key) }),
        ("group", { try await $0.suite.group("db").setStoredValue(1, forKey: "port") }),
    ]

    @Test(
        "is changed where it is, by every way to change it, and the comments and other members stay",
        arguments: 0..<changes.count
    )
    func changing(_ index: Int) async throws {
        let (name, change) = Self.changes[index]
        let text =
            "{\n  // The one at home.\n  \"db\": {\n    \"host\": \"a\", // Not b.\n    \"port\": 2,\n    \"newer\": true\n  }\n}\n"
        try await withProgram(text) { program in
            // Later sets take a short path.
            try await program.suite.setStoredValue(1, forKey: "first")
            try await program.suite.setStoredValue(nil, forKey: "first")
            try await change(program.database.$port)
            #expect(program.database.port == 1, "\(name)")
            #expect(program.suite.snapshot() == ["db": ["host": "a", "port": 1, "newer": true]], "\(name)")
            #expect(program.suite.group("db").snapshot() == ["host": "a", "port": 1, "newer": true])
            try await program.suite.checkpoint()
            #expect(try program.path.fileContents == text.replacing("\"port\": 2", with: "\"port\": 1"), "\(name)")
            // Another process has the same value.
            #expect(Program(program.path, reporter).database.port == 1, "\(name)")
            try await program.database.$port.reset()
            #expect(program.database.port == 5432 && !program.database.$port.isSet)
            try await program.suite.checkpoint()
            #expect(try program.path.fileContents == text.replacing("    \"port\": 2,\n", with: ""), "\(name)")
            try await program.suite.group("db").removeAll()
            #expect(program.suite.snapshot() == [:])
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test(
        "is a member of an object if it is new and the object has another setting, and no setting has the name of the object"
    )
    func adding() async throws {
        try await withProgram(#"{"db": {"port": 2, "pool": {"idle": 1}}, "log": {"file": "x"}, "limits": {"a": 1}}"#) {
            program in
            try await program.database.$poolSize.set(8)
            let file = Setting("log.level", default: 1, suite: program.suite)
            try await file.set(2)
            // Only a declaration tells which members are settings.
            #expect(program.suite[storedValueFor: "log"] == ["file": "x"])
            _ = Setting("log.file", default: "", suite: program.suite)
            try await Setting("log.format", default: 1, suite: program.suite).set(3)
            #expect(program.suite[storedValueFor: "log"] == ["file": "x", "format": 3])
            let limits = Setting("limits", default: ["a": 0], suite: program.suite)
            _ = Setting("limits.a", default: 0, suite: program.suite)
            try await Setting("limits.b", default: 0, suite: program.suite).set(5)
            #expect(limits.value == ["a": 1])
            let stored = program.suite.snapshot()
            #expect(stored["db"] == ["port": 2, "pool.size": 8, "pool": ["idle": 1]])
            #expect(stored["log.level"] == 2 && stored["limits.b"] == 5)
            #expect(stored.count == 5)
            try await program.suite.removeAll()
            try await program.database.$host.set("flat")
            #expect(program.suite.snapshot() == ["db.host": "flat"])
        }
    }

    @Test("streams, observers and the whole suite receive its changes, with the values before and after")
    func observing() async throws {
        try await withProgram(#"{"db": {"port": 1, "host": "a"}}"#) { program in
            let calls = CallLog<[Int]>()
            let observation = program.database.$port.observe { calls.add([$0.old, $0.new]) }
            let keys = CallLog<[String]>()
            var changes = program.suite.changes().makeAsyncIterator()
            let several = program.suite.observe(program.database.$host, program.database.$port) { host, port in
                keys.add([host, "\(port)"])
            }
            program.database.port = 2
            #expect(calls.all == [[1, 2]])
            #expect(await changes.next()?.keys == ["db", "db.port"])
            try await program.suite.checkpoint()
            try program.edit(#"{"db": {"port": 3, "host": "a"}}"#)
            await eventually("the change has arrived") { calls.all.count == 2 && keys.all.count == 2 }
            // Under its own name now, with the same value.
            try program.edit(#"{"db": {"host": "b"}, "db.port": 3}"#)
            await eventually("the change has arrived") { keys.all.count == 3 }
            try program.edit(#"{"db": {"host": "b", "port": 4}, "db.port": 3}"#)
            try program.edit(#"{"db": {"host": "b", "port": 4}}"#)
            await eventually("the change has arrived") { calls.all.count == 3 }
            // By another process.
            try await Program(program.path, reporter).database.$port.set(5)
            program.store.look()
            await eventually("the change has arrived") { calls.all.count == 4 }
            #expect(calls.all == [[1, 2], [2, 3], [3, 4], [4, 5]])
            #expect(keys.all.prefix(3) == [["a", "2"], ["a", "3"], ["b", "3"]])
            withExtendedLifetime((observation, several)) {}
        }
    }

    @Test("an unusable value leaves the last good one in use, also in the next process")
    func lastGood() async throws {
        try await withProgram(#"{"db": {"port": 1}}"#) { program in
            try await program.database.$port.set(2)
            try await program.suite.checkpoint()
            #expect(program.database.port == 2)
            try program.edit(#"{"db": {"port": 70000, "host": "a"}}"#)
            #expect(program.database.port == 2 && program.database.host == "a")
            try await program.database.$host.set("b")
            try await program.suite.checkpoint()
            let next = Program(program.path, reporter)
            #expect(next.database.port == 2)
            #expect(next.suite.snapshot() == ["db": ["port": 70000, "host": "b"]])
            try await next.suite.setStoredValue(true, forKey: "other")
            try await next.suite.checkpoint()
            #expect(Program(program.path, reporter).database.port == 2)
            try await next.database.$port.set(3)
            #expect(program.database.port == 3)
            try await next.suite.checkpoint()
            next.store.close()
            program.store.close()
            // No process sees this edit before it begins.
            try program.path.replaceFile(with: #"{"db": {"port": 70000}}"#)
            #expect(Program(program.path, reporter).database.port == 3)
        }
    }

    @Test(
        "a value that was good in between ends the last good one, also if a program without the setting writes the file"
    )
    func retained() async throws {
        try await withProgram(#"{"db": {"port": 2}}"#) { program in
            try await program.suite.setStoredValue(0, forKey: "other")
            try await program.suite.checkpoint()
            #expect(program.database.port == 2)
            try program.edit(#"{"db": {"port": 70000}}"#)
            #expect(program.database.port == 2)
            try await program.suite.setStoredValue(1, forKey: "other")
            program.store.close()
            for port in [5, 80_000] {
                try program.path.replaceFile(with: #"{"db": {"port": \#(port)}}"#)
                let store = FileStore(path: FilePath(program.path))
                let suite = SettingsSuite(store: store, reporter: reporter)
                try await suite.setStoredValue(.integer(Int128(port)), forKey: "other")
                store.close()
            }
            #expect(Program(program.path, reporter).database.port == 5432)
        }
    }

    @Test("a requirement refuses a set, and an edit that does not meet it leaves the last values in use")
    func requirement() async throws {
        try await withProgram(#"{"db": {"port": 1, "pool": {"size": 2}}}"#) { program in
            let (port, size) = (program.database.$port, program.database.$poolSize)
            SettingsCatalog(program.database).require("less", port, size) { $0 < $1 }
            #expect(throws: SettingsError.self) { try port.set(2) }
            try await port.set(0 + 1)
            try await size.set(3)
            try await port.set(2)
            try await program.suite.checkpoint()
            try program.edit(#"{"db": {"port": 9, "pool": {"size": 3}, "host": "x"}}"#)
            #expect(program.suite.read(port, size) == (2, 3))
            #expect(program.database.host == "x")
            try await size.set(4)
            #expect(program.suite.snapshot() == ["db": ["port": 2, "pool": ["size": 4], "host": "x"]])
            #expect(program.suite.read(port, size) == (2, 4))
        }
    }

    @Test("an assignment while another process writes is saved in the object")
    func pending() async throws {
        try await withProgram(#"{"db": {"port": 1, "host": "a"}}"#) { program in
            try await program.database.$host.set("b")
            let lock = try HeldJournalLock(besideFileAt: program.path)
            let port = program.database.$port
            await Task { port.value = 2 }.value
            #expect(program.database.port == 2 && program.database.host == "b")
            #expect(program.suite.snapshot() == ["db": ["port": 2, "host": "b"]])
            lock.release()
            try await program.suite.synchronize()
            #expect(Program(program.path, reporter).suite.snapshot() == ["db": ["port": 2, "host": "b"]])
        }
    }

    @Test("a value under its own name is used, and that of the object is reported once, and removed with it")
    func both() async throws {
        try await withProgram(#"{"db": {"port": 2, "host": "a"}, "db.port": 1}"#) { program in
            for _ in 1...3 { #expect(program.database.port == 1) }
            #expect(reporter.errors.map(\.code) == [.memberIgnored])
            #expect(SettingsCatalog(program.database).findProblems().warnings.map(\.code) == [.memberIgnored])
            try await program.database.$port.set(3)
            #expect(program.suite.snapshot() == ["db": ["port": 2, "host": "a"], "db.port": 3])
            try await program.database.$port.reset()
            #expect(program.suite.snapshot() == ["db": ["host": "a"]])
            #expect(program.database.port == 5432)
        }
    }

    @Test("a transaction keeps its other changes of names that continue the name of one that is set or removed")
    func continuedNames() async throws {
        let text = #"{"log": {"level": 1}, "app": "old", "db": true, "db.host": "x"}"#
        try await withProgram(text) { program in
            let level = Setting("log.level", default: 0, suite: program.suite)
            let name = Setting("app.name", default: "", suite: program.suite, traits: .renamed(from: "app"))
            try await program.suite.transaction {
                $0[level] = 2
                $0[name] = "new"
                $0[storedValueFor: "db.host"] = "y"
                $0[storedValueFor: "db"] = 5
            }
            #expect(name.value == "new" && level.value == 2)
            let stored = program.suite.snapshot()
            #expect(stored == ["log": ["level": 2], "app.name": "new", "db": 5, "db.host": "y"])
            try await program.suite.transaction {
                $0[level] = 3
                $0[storedValueFor: "db.host"] = nil
                $0[storedValueFor: "db"] = nil
                $0.rename("app.name", to: "app.title")
            }
            #expect(program.suite.snapshot() == ["log": ["level": 3], "app.title": "new"])
        }
    }

    @Test("a change of the whole object is a change of its members: for requirements, managed keys and secrets")
    func wholeObject() async throws {
        try await withProgram(#"{"db": {"port": 1, "pool.size": 2, "password": "hunter1"}}"#) { program in
            let (port, size) = (program.database.$port, program.database.$poolSize)
            SettingsCatalog(program.database).require("less", port, size) { $0 < $1 }
            #expect(throws: SettingsError.self) {
                try program.suite.setStoredValue(["port": 9, "pool.size": 2], forKey: "db")
            }
            program.suite[storedValueFor: "db"] = ["port": 8, "pool.size": 2]
            #expect(program.suite.read(port, size) == (1, 2))
            #expect(reporter.errors.map(\.code) == [.requirementNotMet])
            _ = Setting("db.password", default: "", suite: program.suite, traits: .secret)
            var changes = program.suite.changes().makeAsyncIterator()
            try await program.suite.setStoredValue(["port": 1, "pool.size": 2, "password": "hunter2"], forKey: "db")
            let change = await changes.next()
            #expect(change.map { "\($0)".contains("hunter") } == false)
            let managed = program.path + ".managed"
            try managed.overwriteFile(with: #"{"db.host": "m"}"#)
            let suite = SettingsSuite(store: program.store, sources: [.managed(managed), .stored], reporter: reporter)
            #expect(throws: SettingsError.self) { try suite.setStoredValue([:], forKey: "db") }
            #expect(throws: SettingsError.self) { try suite.removeAll() }
            let command = CommandHarness(program.suite, SettingsCatalog(program.database))
            #expect(await command.run("unset", "db").code == 64)
        }
    }

    @Test("an edit of a member leaves its last good value in use when another member is set")
    func lastGoodBesideSet() async throws {
        try await withProgram(#"{"db": {"host": "a", "port": 1}}"#) { program in
            try await program.database.$port.set(2)
            try await program.suite.checkpoint()
            try program.path.replaceFile(with: #"{"db": {"host": "a", "port": 70000}}"#)
            let next = Program(program.path, reporter)
            try await next.database.$host.set("b")
            #expect(next.database.port == 2)
            #expect(Program(program.path, reporter).database.port == 2)
            try await next.suite.checkpoint()
            #expect(next.database.port == 2)
            #expect(Program(program.path, reporter).database.port == 2)
            next.store.close()
        }
    }

    @Test("a suite that is a source has a value that was pending, and later ones")
    func pendingSource() async throws {
        try await withProgram(#"{"db": {"port": 1}}"#) { program in
            let base = program.suite
            let derived = SettingsSuite.inMemory(sources: [.suite(base)], reporter: reporter)
            let port = Setting("db.port", default: 0, suite: derived)
            #expect(port.value == 1)
            try await base.setStoredValue(1, forKey: "other")
            let lock = try HeldJournalLock(besideFileAt: program.path)
            await Task { base[storedValueFor: "db.port"] = 2 }.value
            #expect(port.value == 2)
            lock.release()
            try await base.synchronize()
            #expect(port.value == 2)
            try await base.setStoredValue(3, forKey: "db.port")
            #expect(port.value == 3)
            try await base.checkpoint()
            try program.edit(#"{"db": {"port": 7}}"#)
            await eventually("the edit has arrived") { port.value == 7 }
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test("groups and streams of keys without a declaration receive changes of members")
    func undeclaredChanges() async throws {
        try await withProgram(#"{"a": {"x": 1, "y": 1}}"#) { program in
            let group = program.suite.group("a")
            var ofGroup = group.changes().makeAsyncIterator()
            var ofKey = program.suite.changes(of: "a.x").makeAsyncIterator()
            try await group.setStoredValue(2, forKey: "x")
            #expect(await ofGroup.next()?.changes == ["x": SettingChange(old: 1, new: 2, origin: .local)])
            #expect(await ofKey.next()?.changes == ["a.x": SettingChange(old: 1, new: 2, origin: .local)])
        }
    }

    @Test("names with many periods, with marks after them, and with values of the greatest depth are names")
    func strangeNames() async throws {
        let long = String(repeating: ".", count: 64_000)
        try await withProgram("{\"\(long)\": 1, \"a\": {\"\u{301}x\": 5, \"b\": 1}}") { program in
            #expect(program.suite[storedValueFor: long] == 1)
            let group = program.suite.group("a")
            #expect(group[storedValueFor: "\u{301}x"] == 5)
            let deep = (1..<StoredValue.maximumDepth).reduce(StoredValue.array([])) { value, _ in [value] }
            _ = [Setting("a.b", default: 0, suite: program.suite)]
            let value = Setting("a.deep", default: StoredValue.null, suite: program.suite)
            try await value.set(deep)
            #expect(value.value == deep && program.suite[storedValueFor: "a"]?["deep"] == nil)
            try await group.removeAll()
            #expect(program.suite.keys == [long])
        }
    }

    @Test("a set of the value in memory while the file is broken is stored")
    func equalBesideBrokenFile() async throws {
        try await withProgram(#"{"db": {"port": 1, "host": "a"}}"#) { program in
            try await program.database.$port.set(2)
            try await program.suite.checkpoint()
            try program.edit("{ broken")
            try await program.database.$port.set(2)
            try program.edit(#"{"db": {"port": 1, "host": "b"}}"#)
            #expect(program.database.port == 2)
        }
    }

    @Test("a key that continues that of another setting is an error of the declaration")
    func declaration() {
        let suite = SettingsSuite.inMemory(reporter: reporter)
        let catalog = SettingsCatalog(
            Setting("db", default: ["host": ""], suite: suite),
            Setting("db.pool.size", default: 1, suite: suite)
        )
        let errors = catalog.findProblems().errors
        #expect(errors.map(\.code) == [.conflictingDeclarations])
        #expect(errors.first?.key == "db.pool.size" && errors.first?.fact.contains("'db'") == true)
    }

    @Test("the command imports and exports it, and names a member that no setting has by its whole key")
    func commands() async throws {
        try await withProgram(#"{"db": {"port": 2, "hots": "a"}}"#) { program in
            let command = CommandHarness(program.suite, SettingsCatalog(program.database))
            #expect(await command.run("get", "db.port").output == "2\n")
            #expect(await command.run("validate").errors.contains("'db.hots'"))
            #expect(await command.run("unset", "db.hots").code == 0)
            #expect(program.suite.snapshot() == ["db": ["port": 2]])
            let exported = await command.run("export").output
            #expect(try JSONReader.readObject(Array(exported.utf8), .strict) == ["db.port": 2])
            let file = program.path + ".import"
            try file.overwriteFile(with: #"{"db": {"host": "b", "pool": {"size": 7}}}"#)
            #expect(await command.run("import", "--replace", file).code == 0)
            #expect(program.database.host == "b" && program.database.poolSize == 7 && program.database.port == 5432)
            try file.overwriteFile(with: #"{"db": {"pool.size": 1}, "db.pool": {"size": 2}}"#)
            for _ in 1...3 { #expect(await command.run("import", file).code == 0 && program.database.poolSize == 2) }
            try file.overwriteFile(with: #"{"db": {"hots": "b"}}"#)
            let refused = await command.run("import", file)
            #expect(refused.code == 65 && refused.errors.contains("'db.hots'"), "\(refused.errors)")
        }
    }

    @Test("random edits, sets and checkpoints of two processes end in the values of a model", arguments: 1...12)
    func model(seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        try await withProgram("{}") { program in
            // Without a journal, the other process would notice changes later.
            try await program.suite.setStoredValue(0, forKey: "first")
            let programs = [program, Program(program.path, reporter)]
            let keys = ["db.host", "db.port", "db.pool.size", "db.pool.idle", "other"]
            let settings = programs.map { program in
                keys.map { Setting($0, default: 0, suite: program.suite) }
            }
            let observed = settings[0].map { setting in LastValue(setting.value) }
            let observations = zip(settings[0], observed)
                .map { setting, last in setting.observe { change in last.set(change.new) } }
            var model = keys.map { _ in 0 }
            for step in 1...60 {
                let (index, process) = (
                    Int.random(in: keys.indices, using: &random), Int.random(in: 0...1, using: &random)
                )
                let setting = settings[process][index]
                switch Int.random(in: 0..<8, using: &random) {
                case 0..<3:
                    try await setting.set(step)
                    model[index] = step
                case 3:
                    try await setting.reset()
                    model[index] = 0
                case 4:
                    let other = Int.random(in: keys.indices, using: &random)
                    try await programs[process].suite
                        .transaction {
                            $0[setting] = step
                            $0[settings[process][other]] = -step
                        }
                    model[index] = step
                    model[other] = -step
                case 5:
                    try await programs[process].suite.checkpoint()
                default:
                    // What the journal has takes precedence over an edit.
                    try await programs[process].suite.checkpoint()
                    var contents: [String: StoredValue] = [:]
                    model[index] = step
                    for (key, value) in zip(keys, model) where value != 0 {
                        let form = Int.random(in: 0..<3, using: &random)
                        let (object, member) =
                            form == 0 ? ("", key) : key.divisions.randomElement(using: &random) ?? ("", key)
                        if object.isEmpty {
                            contents[key] = .integer(Int128(value))
                        } else {
                            var members: [String: StoredValue] = [:]
                            if case .dictionary(let known)? = contents[object] { members = known }
                            members[member] = .integer(Int128(value))
                            contents[object] = .dictionary(members)
                        }
                    }
                    try program.path.replaceFile(with: StoredValue.dictionary(contents).jsonText)
                    for program in programs { program.store.lookAndWait() }
                }
                for (number, settings) in settings.enumerated() {
                    let values = settings.map(\.value)
                    #expect(
                        values == model,
                        "seed \(seed), step \(step), process \(number): \(programs[number].suite.snapshot())"
                    )
                    guard values == model else { return }
                }
            }
            programs[0].store.look()
            let last = model
            await eventually("the observers have the last values") { observed.map { $0.value } == last }
            withExtendedLifetime(observations) {}
            #expect(reporter.errors.isEmpty)
        }
    }
}
