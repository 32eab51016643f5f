// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("The last good value of a key", .deadlockLimit)
struct LastGoodValueTests {
    private let reporter = RecordingReporter()

    /// A program that uses a settings file until it ends.
    private final class Program: Sendable {
        let store: FileStore
        let suite: SettingsSuite
        let limit: Setting<Int>

        init(_ path: String, _ reporter: RecordingReporter, traits: SettingTraits = []) {
            store = FileStore(path: FilePath(path), checkpointsInBackground: false)
            suite = SettingsSuite(store: store, reporter: reporter)
            limit = Setting("limit", default: 64, suite: suite, in: 1...100, traits: traits)
        }

        /// Edits the file as a person does, and has the store read it.
        func edit(_ path: String, _ text: String) throws {
            try path.replaceFile(with: text)
            store.lookAndWait()
        }
    }

    /// Runs a body with a program that has stored a value of the limit in its file.
    private func withProgram(
        limit value: Int = 20,
        isRead: Bool = true,
        _ body: (_ program: Program, _ path: String) async throws -> Void
    ) async throws {
        try await withSettingsPath(inMemory: true) { path in
            let program = Program(path, reporter)
            try await program.limit.set(value)
            try await program.suite.checkpoint()
            if isRead { #expect(program.limit.value == value) }
            try await body(program, path)
        }
    }

    @Test(
        "a value that becomes unusable leaves the last good one in use",
        arguments: [#"200"#, #""many""#, "null", "[]"]
    )
    func edited(value: String) async throws {
        try await withProgram { program, path in
            try program.edit(path, #"{"limit": \#(value), "other": 1}"#)
            #expect(program.limit.value == 20)
            #expect(Setting("limit", default: 7, suite: program.suite, in: 1...50).value == 20)
            #expect(try path.fileContents == #"{"limit": \#(value), "other": 1}"#)
            #expect(program.limit.isSet)
            #expect(throws: SettingsError.self) { try program.limit.load() }
        }
    }

    @Test("a value that this process has not read yet becomes the last good one")
    func unread() async throws {
        try await withProgram(isRead: false) { program, path in
            try program.edit(path, #"{"limit": 30}"#)
            try program.edit(path, #"{"limit": 200}"#)
            // The checkpoint has replaced the copy before the first read.
            try await program.suite.setStoredValue(true, forKey: "other")
            try await program.suite.checkpoint()
            #expect(program.limit.value == 30)
        }
    }

    @Test("a new process uses the last good value from the last good copy")
    func newProcess() async throws {
        try await withProgram(isRead: false) { program, path in
            await program.suite.finish()
            try path.replaceFile(with: #"{"limit": 200}"#)
            #expect(Program(path, reporter).limit.value == 20)
        }
    }

    @Test("checkpoints retain the last good value while the unusable one is stored, also those of other programs")
    func retained() async throws {
        try await withProgram { program, path in
            try program.edit(path, "{\n  \"limit\": 200\n}\n")
            #expect(program.limit.value == 20)
            try await program.suite.setStoredValue(1, forKey: "a")
            try await program.suite.checkpoint()
            await program.suite.finish()
            #expect(Program(path, reporter).limit.value == 20)

            // A program that does not have the setting.
            let other = SettingsSuite(fileAt: path, reporter: reporter)
            for value in [2, 3] as [StoredValue] {
                try await other.setStoredValue(value, forKey: "a")
                try await other.checkpoint()
            }
            #expect(other.snapshot() == ["a": 3, "limit": 200])
            #expect(try path.fileContents == "{\n  \"a\": 3,\n  \"limit\": 200\n}\n")
            await other.finish()
            #expect(Program(path, reporter).limit.value == 20)
        }
    }

    @Test(
        "the last good value does not survive the next checkpoint after the unusable value was replaced or removed",
        arguments: [30, nil] as [StoredValue?]
    )
    func dropped(value: StoredValue?) async throws {
        try await withProgram(limit: 23) { program, path in
            try program.edit(path, #"{"limit": 200}"#)
            #expect(program.limit.value == 23)
            try await program.suite.setStoredValue(1, forKey: "a")
            try await program.suite.checkpoint()
            #expect(try (path + ".last-good").fileContents.contains("23"))
            try await program.suite.setStoredValue(value, forKey: "limit")
            try await program.suite.checkpoint()
            #expect(try !(path + ".last-good").fileContents.contains("23"))
            if value == nil { #expect(program.limit.value == 64) }
            // An unusable value from now on follows the other one.
            try program.edit(path, #"{"limit": 200}"#)
            #expect(program.limit.value == (value == nil ? 64 : 30))
        }
    }

    @Test(
        "a value that was removed or replaced since is not used, and is not written again",
        arguments: [false, true],
        [false, true]
    )
    func removed(isSecret: Bool, isEdited: Bool) async throws {
        try await withSettingsPath(inMemory: true) { path in
            let program = Program(path, reporter, traits: isSecret ? .secret : [])
            try await program.limit.set(23)
            try await program.suite.checkpoint()
            if isEdited {
                try program.edit(path, #"{"limit": 200}"#)
                #expect(program.limit.value == 23)
            }
            try await program.limit.reset()
            if isEdited { try await program.suite.checkpoint() }
            #expect(program.limit.value == 64)
            try await program.suite.setStoredValue(200, forKey: "limit")
            #expect(program.limit.value == 64)
            try await program.suite.checkpoint()
            #expect(try !(path + ".last-good").fileContents.contains("23"))
        }
    }

    @Test("a value that is usable for one setting of a key leaves the last good one of another in use")
    func severalTypes() throws {
        let suite = SettingsSuite.inMemory(["limit": 20], reporter: reporter)
        let narrow = Setting("limit", default: 1, suite: suite, in: 1...100)
        let wide = Setting("limit", default: 1, suite: suite)
        #expect(narrow.value == 20)
        #expect(wide.value == 20)
        try wide.set(200)
        for step in 1...3 {
            #expect(wide.value == 200)
            #expect(narrow.value == 20)
            suite[storedValueFor: "other"] = .integer(Int128(step))
        }
        #expect(reporter.errors.count == 1)
        #expect(reporter.recoveries.isEmpty, "a value that one setting can use and another cannot is no recovery")
    }

    @Test("a copy that a person has put in place of the file loses the last good values at the next checkpoint")
    func copyAsFile() async throws {
        try await withProgram(limit: 23) { program, path in
            try program.edit(path, #"{"limit": 200}"#)
            #expect(program.limit.value == 23)
            try await program.suite.setStoredValue(1, forKey: "a")
            try await program.suite.checkpoint()
            await program.suite.finish()
            try path.replaceFile(with: (path + ".last-good").fileContents)
            let next = Program(path, reporter)
            try await next.suite.removeAll()
            try await next.suite.checkpoint()
            #expect(next.suite.snapshot() == [:])
            #expect(try !path.fileContents.contains("23"))
        }
    }

    @Test("the copy with a last good value is a valid settings file, and is used if the file is broken")
    func copy() async throws {
        try await withProgram { program, path in
            try program.edit(path, #"{"limit": 200}"#)
            #expect(program.limit.value == 20)
            try await program.suite.setStoredValue(1, forKey: "a")
            try await program.suite.checkpoint()
            await program.suite.finish()
            let copy = try (path + ".last-good").fileContents
            #expect(copy == "{\n  \"$lastGood\": {\"limit\":20},\n  \"a\": 1,\n  \"limit\": 200\n}\n")
            try path.replaceFile(with: "{ oops")
            var next = Program(path, reporter)
            #expect(next.suite.snapshot() == ["a": 1, "limit": 200])
            #expect(next.limit.value == 20)
            try path.replaceFile(with: copy)
            next = Program(path, reporter)
            #expect(next.suite.snapshot() == ["a": 1, "limit": 200])
            try await next.suite.setStoredValue(2, forKey: "a")
            try await next.suite.checkpoint()
            #expect(next.limit.value == 20)
        }
    }

    @Test(
        "a change after an unusable value is received with the value that was used, also if others have read the new one"
    )
    func changeAfterUnusable() async throws {
        try await withProgram { program, path in
            let seen = Mutex<[[Int]]>([])
            let several = Mutex<[Int]>([])
            let observations = [
                program.limit.observe { change in seen.withLock { $0.append([change.old, change.new]) } },
                program.suite.observe(program.limit) { several.withLock { $0.append(program.limit.value) } },
            ]
            var changes = program.limit.changes().makeAsyncIterator()
            let subscription = program.limit.subscribe { StreamSubscriber($0) }.0
            try program.edit(path, #"{"limit": 200}"#)
            // The stream has seen the unusable value, and delivered nothing.
            let unusable = try #require(await subscription.subscriber.next(isolation: nil))
            let last = LastReading<Int>()
            #expect(program.limit.change(unusable, after: last) == nil)
            try program.edit(path, #"{"limit": 30}"#)
            #expect(program.limit.value == 30)
            let next = try #require(await subscription.subscriber.next(isolation: nil))
            let change = try #require(program.limit.change(next, after: last))
            #expect(change.old == 20)
            #expect(change.new == 30)
            let received = try #require(await changes.next())
            #expect(received.old == 20)
            #expect(received.new == 30)
            await eventually("the observers receive the change") {
                seen.withLock { $0 } == [[20, 30]] && several.withLock { $0 } == [30]
            }
            withExtendedLifetime(observations) {}
        }
    }

    @Test("an explanation names the last good value, and the problem of the stored one")
    func explanation() async throws {
        try await withProgram(isRead: false) { program, path in
            try program.edit(path, #"{"limit": 200}"#)
            let explanation = program.limit.explain()
            #expect(explanation.layer == .lastGood)
            #expect(explanation.value == 20)
            #expect(explanation.shadowed == [.default: 64])
            #expect(explanation.problem?.code == .validationFailed)
            #expect(explanation.problem?.location?.line == 1)
            #expect(explanation.description.hasPrefix("limit = 20, the last good value, over the default 64; "))
            let error = try #require(SettingsCatalog(program.limit).findProblems().errors.first)
            let consequence =
                "if the program continues, the last good value is used, and the stored value is left as it is"
            #expect(error.consequence == consequence)
        }
    }

    @Test("each unusable value is reported once, and its recovery once, however many settings read it")
    func reports() async throws {
        try await withProgram { program, path in
            let read = {
                for _ in 1...3 {
                    // Settings with a validator of their own are not shared.
                    _ = Setting("limit", default: 64, suite: program.suite, in: 1...100, validate: { $0 != 50 }).value
                    _ = program.limit.value
                    try program.suite.setStoredValue(.double(.random(in: 0...1)), forKey: "other")
                }
            }
            try await program.limit.set(20)
            try read()
            #expect(reporter.errors.isEmpty)
            try await program.suite.checkpoint()
            try program.edit(path, #"{"limit": 200}"#)
            try read()
            #expect(reporter.errors.map(\.code) == [.validationFailed])
            #expect(
                reporter.errors[0].consequence == "the last good value is used, and the stored value is left as it is"
            )
            #expect(reporter.recoveries.isEmpty)
            try await program.suite.checkpoint()
            try program.edit(path, #"{"limit": 30}"#)
            try read()
            #expect(reporter.errors.count == 1)
            #expect(reporter.recoveries.map(\.message) == reporter.errors.map(\.message))
            try await program.suite.checkpoint()
            try program.edit(path, #"{"limit": 200}"#)
            try read()
            #expect(reporter.errors.count == 2)
            try await program.limit.reset()
            try read()
            #expect(reporter.recoveries.count == 2)
        }
    }

    @Test("the recovery of a broken file is reported")
    func brokenFile() async throws {
        try await withProgram { program, path in
            try program.edit(path, "{ oops")
            await eventually("the malformed file is reported") {
                program.store.look()
                return !reporter.errors.isEmpty
            }
            #expect(reporter.recoveries.isEmpty)
            try program.edit(path, #"{"limit": 21}"#)
            await eventually("the file is read again") { program.limit.value == 21 }
            #expect(reporter.errors.map(\.code) == [.malformedFile])
            await eventually("the recovery is reported") { !reporter.recoveries.isEmpty }
            #expect(reporter.recoveries.map(\.message) == reporter.errors.map(\.message))
        }
    }

    @Test("an unusable default of the store is reported once")
    func unusableFallback() {
        let suite = SettingsSuite(store: FallbackStore([:], fallback: 200), reporter: reporter)
        let limit = Setting("limit", default: 1, suite: suite, in: 1...100)
        for step in 1...3 {
            #expect(limit.value == 1)
            suite[storedValueFor: "other"] = .integer(Int128(step))
        }
        #expect(reporter.errors.count == 1)
        #expect(reporter.recoveries.isEmpty)
    }

    @Test("each unusable value after another one is reported and is not the last good value")
    func successive() async throws {
        try await withProgram { program, path in
            for (value, used) in [("200", 20), (#""many""#, 20), ("400", 20), ("30", 30), ("200", 30), ("31", 31)] {
                try program.edit(path, #"{"limit": \#(value)}"#)
                #expect(program.limit.value == used, "\(value)")
            }
            let codes: [SettingsError.Code] = [.validationFailed, .typeMismatch, .validationFailed, .validationFailed]
            #expect(reporter.errors.map(\.code) == codes)
            #expect(reporter.recoveries.map(\.message) == reporter.errors.map(\.message))
        }
    }

    @Test("the default reporter writes a failure again after its recovery")
    func standardError() {
        let lines = Mutex<[String]>([])
        let reporter = StandardErrorReporter { line in lines.withLock { $0.append(line) } }
        var error = SettingsError(.validationFailed, fact: "the value is outside 1...100", key: "limit")
        error.suite = "s"
        for _ in 1...2 {
            reporter.report(error)
            reporter.report(error)
            reporter.reportRecovery(from: error)
            reporter.reportRecovery(from: error)
        }
        let recovery = "StoredSettings: 'limit' of suite 's': the problem is settled: the value is outside 1...100\n"
        let failure = "StoredSettings: \(error.message)\n"
        #expect(lines.withLock { $0 } == [failure, recovery, failure, recovery])
    }

    @Test("the default reporter writes a key and a suite without characters that control a terminal")
    func controlCharacters() {
        let lines = Mutex("")
        let reporter = StandardErrorReporter { line in lines.withLock { $0 += line } }
        var error = SettingsError(.validationFailed, fact: "the value is wrong", key: "a\u{1B}[2J")
        error.suite = "b\n\u{202E}"
        reporter.report(error)
        reporter.reportRecovery(from: error)
        let text = lines.withLock { $0 }
        #expect(!text.unicodeScalars.contains { ["\u{1B}", "\u{202E}"].contains($0) })
        #expect(text.count { $0 == "\n" } == 2)
    }

    @Test(
        "a checkpoint retains the last good value of a setting that its process has not read",
        arguments: [true, false]
    )
    func unreadAtCheckpoint(isOpenDuringEdit: Bool) async throws {
        try await withProgram(isRead: false) { program, path in
            await program.suite.finish()
            let early = isOpenDuringEdit ? Program(path, reporter) : nil
            if let early { #expect(early.suite.keys == ["limit"]) }
            try path.replaceFile(with: #"{"limit": 200}"#)
            early?.store.lookAndWait()
            let next = early ?? Program(path, reporter)
            try await next.suite.setStoredValue(1, forKey: "a")
            try await next.suite.checkpoint()
            await next.suite.finish()
            #expect(Program(path, reporter).limit.value == 20)
        }
    }
}
