// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Problems of layers")
struct LayerProblemTests {
    private let reporter = RecordingReporter()

    private struct Settings: Sendable {
        @DefaultStorage var port: Int
        @DefaultStorage var host: String

        init(_ suite: SettingsSuite) {
            _port = DefaultStorage(wrappedValue: 80, key: "port", suite: suite, in: 1...100)
            _host = DefaultStorage(wrappedValue: "none", key: "host", suite: suite, traits: .deprecated("use hosts"))
        }
    }

    @Test("an unusable value in a file is reported once with its place, and the next layer is used")
    func unusableValues() async throws {
        try await withTemporaryDirectory { directory in
            let (managed, base, other) = ("\(directory)/m.json", "\(directory)/b.json", "\(directory)/o.json")
            try managed.writeLayer("{\n  \"port\": 101\n}")
            try base.writeLayer("{ // comment\n  \"port\": \"a\"\n}")
            try other.writeLayer(#"{ "port": 7 }"#)
            let suite = SettingsSuite.inMemory(
                ["port": 0],
                sources: [.managed(managed), .file(base), .file(other)],
                reporter: reporter
            )
            let settings = Settings(suite)
            for _ in 0..<3 { #expect(settings.port == 7) }
            #expect(Setting("port", default: 80, suite: suite, in: 1...100).value == 7)
            let places = reporter.errors.map { $0.location.map(\.description) ?? "" }
            #expect(
                places == ["\(managed):2:11", "\(base):2:11", ""] || places == ["\(managed):2:11", "", "\(base):2:11"]
            )
            let messages = reporter.errors.map(\.message)
            let expected = """
                setting 'port' of suite 'in memory' (\(managed):2:11): the value is outside 1...100. It is ignored, and the \
                next layer is used. Correct it there: use a value in 1...100.
                """
            #expect(messages.first == expected)
            let stored = reporter.errors.first { $0.location == nil }
            #expect(stored?.consequence == "the value of \(other) is used, and the stored value is left as it is")
            #expect(settings.$port.explain().layer == .file)
            #expect(settings.$port.explain().problem?.location?.file == managed)
        }
    }

    @Test("a base beneath a stored value is not reported, and is found by validation")
    func hiddenProblem() async throws {
        try await withLayer(#"{ "port": 101 }"#, under: ["port": 9], reporter: reporter) { suite, base in
            let settings = Settings(suite)
            #expect(settings.port == 9)
            #expect(reporter.errors.isEmpty)
            let problems = SettingsCatalog(settings).findProblems().errors
            #expect(problems.map { $0.location?.description } == ["\(base):1:11"])
        }
    }

    @Test("a problem that is corrected and comes back is reported again, and its recovery is used", .deadlockLimit)
    func recovery() async throws {
        try await withLayer(#"{ "port": 101 }"#, reporter: reporter) { suite, base in
            let port = Setting("port", default: 80, suite: suite, in: 1...100)
            #expect(port.value == 80)
            try base.replaceFile(with: #"{ "port": 9 }"#)
            await eventually("the corrected value is used") { port.value == 9 }
            await eventually("the recovery is reported") { reporter.recoveries.map(\.code) == [.validationFailed] }
            try base.replaceFile(with: #"{ "port": 101 }"#)
            await eventually("the default is used") { port.value == 80 }
            #expect(reporter.errors.map(\.code) == [.validationFailed, .validationFailed])
        }
    }

    @Test("a broken file is skipped at the start and keeps its last good values later", .deadlockLimit)
    func brokenFile() async throws {
        try await withLayer("{ \"port\": }", reporter: reporter) { suite, base in
            let port = Setting("port", default: 80, suite: suite)
            #expect(port.value == 80)
            #expect(reporter.errors.map { $0.location?.description } == ["\(base):1:11"])
            #expect(port.explain().problem?.code == .malformedFile)
            try base.replaceFile(with: #"{ "port": 9 }"#)
            await eventually("the corrected file is used") { port.value == 9 }
            await eventually("the recovery is reported") { reporter.recoveries.map(\.code) == [.malformedFile] }
            try base.replaceFile(with: "{ \"port\": 10")
            await eventually("the broken file is reported") { reporter.errors.count == 2 }
            #expect(reporter.errors.last?.consequence == "its last good values are used")
            #expect(port.value == 9)
            #expect(reporter.errors.allSatisfy { $0.location?.file == base })
            try base.overwriteFile(with: "{ \"port\": 10 }")
            await eventually("the completed file is used") { port.value == 10 }
        }
    }

    @Test("a file that is missing, broken or empty is not accepted at once, because a program may be writing it")
    func settling() throws {
        let status = try #require(try SystemCalls().status(at: "/"))
        let contents: [() throws -> String?] = [{ nil }, { "" }, { throw SettingsError.invalidValue("broken") }]
        for read in contents {
            var file = LayerFile<String>()
            func look(_ read: () throws -> String?) {
                file.look {
                    status
                } read: {
                    try read().map { LayerFile<String>.Reading(contents: $0, status: status, isCertain: false) }
                } makeProblem: { error, _ in
                    .wrapping(error, as: .readFailed)
                }
            }
            look { "good" }
            #expect(file.contents == "good")
            look(read)
            #expect(file.contents == "good")
            #expect(file.problem == nil)
            #expect(file.isUnsettled)
            look { "better" }
            #expect(file.contents == "better")
            #expect(!file.isUnsettled)
        }
    }

    @Test("what is no file, and what is too large, is reported and skipped")
    func noFile() async throws {
        try await withTemporaryDirectory { directory in
            let large = "\(directory)/large.json"
            try large.writeLayer("")
            let handle = try #require(FileHandle(forWritingAtPath: large))
            try handle.truncate(atOffset: UInt64(SettingsFile.longestFile) + 1)
            try handle.close()
            let suite = SettingsSuite.inMemory(sources: [.file(directory), .file(large)], reporter: reporter)
            #expect(Setting("port", default: 80, suite: suite).value == 80)
            #expect(reporter.errors.map(\.code) == [.readFailed, .readFailed])
            #expect(reporter.errors.map { $0.location?.file } == [directory, large])
        }
    }

    @Test("validation finds unknown keys in files, with places and similar names, and broken files")
    func validation() async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/m.json".writeLayer("{\n  \"$schema\": \"x\",\n  \"prot\": 9\n}")
            try "\(directory)/d/a.json".writeLayer("{\n  \"hots\": \"a\"\n}")
            try "\(directory)/d/b.json".writeLayer("{")
            let suite = SettingsSuite.inMemory(
                sources: [.managed("\(directory)/m.json"), .directory("\(directory)/d")],
                reporter: reporter
            )
            let (errors, warnings) = SettingsCatalog(Settings(suite)).findProblems()
            #expect(
                errors.map { "\($0.code) \($0.location?.description.dropFirst(directory.count) ?? "") \($0.remedy)" }
                    == [
                        "malformedFile /d/b.json:1:2 correct the file at this position; it is then read again automatically",
                        "unknownKey /m.json:3:11 rename it to 'port' if that is meant, or remove it",
                        "unknownKey /d/a.json:2:11 rename it to 'host' if that is meant, or remove it",
                    ]
            )
            #expect(warnings.isEmpty)
            try "\(directory)/d/b.json".replaceFile(with: #"{ "host": "a" }"#)
            try "\(directory)/d/a.json".replaceFile(with: "{}")
            let again = SettingsSuite.inMemory(sources: [.directory("\(directory)/d")], reporter: reporter)
            let found = SettingsCatalog(Settings(again)).findProblems()
            #expect(found.errors.isEmpty)
            #expect(found.warnings.map(\.code) == [.deprecatedKey])
        }
    }
}
