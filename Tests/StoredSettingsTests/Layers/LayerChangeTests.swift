// SPDX-License-Identifier: Apache-2.0

import Foundation
import Observation
import ProcessSupport
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// A change of a file of a layer: the steps lead from 1 to 2.
enum FileChange: String, CaseIterable, Sendable {
    case writtenInPlace, replaced, removed, created, directoryAppears, directoryReplaced, configMapSwapped
    case linkTarget, linkReplaced

    /// Whether there is no value at first.
    var isCreation: Bool { self == .created || self == .directoryAppears }

    /// Whether the file is missing or empty for a moment.
    var hasGap: Bool { [.writtenInPlace, .directoryReplaced, .linkTarget].contains(self) }

    /// The value after the change.
    var result: Int { self == .removed ? 0 : 2 }

    func prepare(_ directory: String, _ file: (Int) -> String) throws {
        let manager = FileManager.default
        switch self {
        case .created, .directoryAppears:
            break
        case .configMapSwapped:
            try "\(directory)/sub/..1/\(name)".writeLayer(file(1))
            try manager.createSymbolicLink(atPath: "\(directory)/sub/..data", withDestinationPath: "..1")
            try manager.createSymbolicLink(atPath: "\(directory)/sub/\(name)", withDestinationPath: "..data/\(name)")
        case .linkTarget, .linkReplaced:
            try "\(directory)/other/first".writeLayer(file(1))
            try "\(directory)/other/second".writeLayer(file(2))
            try manager.createDirectory(atPath: "\(directory)/sub", withIntermediateDirectories: true)
            try manager.createSymbolicLink(atPath: "\(directory)/sub/\(name)", withDestinationPath: "../other/first")
        default:
            try "\(directory)/sub/\(name)".writeLayer(file(1))
        }
        if self == .created {
            try manager.createDirectory(atPath: "\(directory)/sub", withIntermediateDirectories: true)
        }
    }

    func perform(_ directory: String, _ file: (Int) -> String) throws {
        let manager = FileManager.default
        let path = "\(directory)/sub/\(name)"
        switch self {
        case .writtenInPlace: try path.overwriteFile(with: file(2))
        case .replaced: try path.replaceFile(with: file(2))
        case .removed: try manager.removeItem(atPath: path)
        case .created, .directoryAppears: try path.writeLayer(file(2))
        case .directoryReplaced:
            try "\(directory)/new/\(name)".writeLayer(file(2))
            try manager.moveItem(atPath: "\(directory)/sub", toPath: "\(directory)/old")
            try manager.moveItem(atPath: "\(directory)/new", toPath: "\(directory)/sub")
        case .configMapSwapped:
            try "\(directory)/sub/..2/\(name)".writeLayer(file(2))
            try manager.createSymbolicLink(atPath: "\(directory)/sub/..new", withDestinationPath: "..2")
            try #require(rename("\(directory)/sub/..new", "\(directory)/sub/..data") == 0)
            try manager.removeItem(atPath: "\(directory)/sub/..1")
        case .linkTarget: try "\(directory)/other/first".overwriteFile(with: file(2))
        case .linkReplaced:
            try manager.createSymbolicLink(atPath: "\(directory)/sub/.new", withDestinationPath: "../other/second")
            try #require(rename("\(directory)/sub/.new", path) == 0)
        }
    }

    /// A name that is right for a drop-in, a secret and a file.
    private var name: String { "port.json" }
}

/// A kind of layer that is in one file.
enum LiveLayer: String, CaseIterable, Sendable {
    case managed, secretDirectory, secretVariable, file, dropIns

    func suite(_ directory: String, _ reporter: any SettingsReporter, values: [String: StoredValue] = [:])
        -> SettingsSuite
    {
        let path = "\(directory)/sub/port.json"
        let variables = ["ACME_PORT_JSON_FILE": path]
        switch self {
        case .managed: return .inMemory(values, sources: [.managed(path)], reporter: reporter)
        case .secretDirectory:
            return .inMemory(values, sources: [.secrets(directory: "\(directory)/sub")], reporter: reporter)
        case .secretVariable:
            let override = SettingsSource.environment(variables, prefix: "ACME_", files: true)
            return .inMemory(values, sources: [override], reporter: reporter)
        case .file: return .inMemory(values, sources: [.file(path)], reporter: reporter)
        case .dropIns: return .inMemory(values, sources: [.directory("\(directory)/sub")], reporter: reporter)
        }
    }

    func text(_ value: Int) -> String {
        self == .secretDirectory || self == .secretVariable ? "\(value)\n" : "{ \"port.json\": \(value) }"
    }
}

@Suite("Changes of layers")
struct LayerChangeTests {
    private let reporter = RecordingReporter()

    @Test(
        "a stream, an observer and a read without either receive every kind of change",
        .deadlockLimit,
        arguments: LiveLayer.allCases.sampled(2),
        FileChange.allCases
    )
    func change(of layer: LiveLayer, by change: FileChange) async throws {
        try await withTemporaryDirectory { directory in
            try change.prepare(directory, layer.text)
            let quiet = layer.suite(directory, reporter)
            let unwatched = Setting("port.json", default: 0, suite: quiet)
            let port = Setting("port.json", default: 0, suite: layer.suite(directory, reporter))
            let first = change.isCreation ? 0 : 1
            #expect(unwatched.value == first)
            let seen = ObservedChanges(of: port)
            var values = port.values.makeAsyncIterator()
            var changes = port.changes().makeAsyncIterator()
            #expect(await values.next() == first)
            #expect(port.suite.layers?.files?.hasEvents == true)

            let start = ContinuousClock.now
            try change.perform(directory, layer.text)
            // On a busy machine, the gap may be so long that it is a change of its own.
            let isLate = ContinuousClock.now - start >= .seconds(SettingsFileState.settlingTime)
            guard !change.hasGap || !isLate else {
                await eventually("the change is read") {
                    port.value == change.result && unwatched.value == change.result
                }
                return
            }

            #expect(await values.next() == change.result)
            let delivered = await changes.next()
            #expect([delivered?.old, delivered?.new] == [first, change.result])
            #expect(delivered?.origin == .external)
            await eventually("the observer is called") { !seen.pairs.isEmpty }
            #expect(seen.pairs == [[first, change.result]])
            #expect(port.value == change.result)
            await eventually("a read is current without a subscriber") { unwatched.value == change.result }
        }
    }

    @Test("what a higher layer hides, and a rewrite with the same value, are not changes", .deadlockLimit)
    func hidden() async throws {
        try await withTemporaryDirectory { directory in
            let (managed, base) = ("\(directory)/managed.json", "\(directory)/base.json")
            try managed.writeLayer(#"{ "managed": 1 }"#)
            try base.writeLayer(#"{ "managed": 5, "stored": 5, "other": 5 }"#)
            let suite = SettingsSuite.inMemory(
                ["managed": 3, "stored": 3],
                sources: [.managed(managed), .file(base)],
                reporter: reporter
            )
            let setting = ["managed", "stored", "other"].map { Setting($0, default: 0, suite: suite) }
            let seen = Mutex<[String]>([])
            let observations = setting.map { setting in
                setting.observe { change in seen.withLock { $0.append("\(setting.key): \(change.old)-\(change.new)") } }
            }
            let several = suite.observe(setting[0], setting[1]) { seen.withLock { $0.append("several") } }
            var tuples = suite.values(of: setting[0], setting[1], setting[2]).makeAsyncIterator()
            #expect(await tuples.next().map { [$0.0, $0.1, $0.2] } == [1, 3, 5])
            var stored = suite.changes().makeAsyncIterator()

            try base.replaceFile(with: #"{ "managed": 6, "stored": 6, "other": 5 }"#)
            try managed.replaceFile(with: #"{ "managed": 1.0 }"#)
            try await suite.setStoredValue(4, forKey: "unrelated")
            try base.replaceFile(with: #"{ "managed": 6, "stored": 6, "other": 6 }"#)
            #expect(await tuples.next().map { [$0.0, $0.1, $0.2] } == [1, 3, 6])
            await eventually("the only change is delivered") { seen.withLock { !$0.isEmpty } }
            #expect(seen.withLock(\.self) == ["other: 5-6"])
            // The changes of a suite are about its store.
            #expect(await stored.next()?.keys == ["unrelated"])

            // A base becomes visible when the stored value is removed, and the other way round.
            // Another thread may still be delivering, and then delivers these as well.
            try await setting[1].reset()
            await eventually("the base becomes visible") {
                seen.withLock { $0.suffix(2).sorted() } == ["several", "stored: 3-6"]
            }
            try await setting[1].set(7)
            await eventually("the stored value becomes visible") {
                seen.withLock { $0.suffix(2).sorted() } == ["several", "stored: 6-7"]
            }
            for observation in observations + [several] { observation.invalidate() }
        }
    }

    @Test(
        "several changes of one file are delivered together, and all values of a tuple are of one moment",
        .deadlockLimit
    )
    func together() async throws {
        try await withLayer(#"{ "low": 1, "high": 1 }"#, reporter: reporter) { suite, path in
            let low = Setting("low", default: 0, suite: suite)
            let high = Setting("high", default: 0, suite: suite)
            let count = Mutex(0)
            let observation = suite.observe(low, high) { count.withLock { $0 += 1 } }
            var values = suite.values(of: low, high).makeAsyncIterator()
            #expect(await values.next().map { [$0.0, $0.1] } == [1, 1])
            try path.replaceFile(with: #"{ "low": 2, "high": 2 }"#)
            #expect(await values.next().map { [$0.0, $0.1] } == [2, 2])
            await eventually("the observer is called") { count.withLock { $0 > 0 } }
            #expect(count.withLock(\.self) == 1)
            observation.invalidate()
        }
    }

    @Test("a renamed setting follows its old key in a file", .deadlockLimit)
    func renamed() async throws {
        try await withLayer(#"{ "old": 1 }"#, reporter: reporter) { suite, path in
            let suite = suite.observable()
            let port = Setting("port", default: 0, suite: suite, traits: .renamed(from: "old"))
            let seen = ObservedChanges(of: port)
            var values = port.values.makeAsyncIterator()
            #expect(await values.next() == 1)
            let isNotified = Flag()
            withObservationTracking {
                _ = port.value
            } onChange: {
                isNotified.set()
            }
            try path.replaceFile(with: #"{ "old": 2 }"#)
            #expect(await values.next() == 2)
            await eventually("the tracking is notified") { isNotified.isSet }
            await eventually("the observer is called") { seen.new == [2] }
            try path.replaceFile(with: #"{ "old": 2, "port": 3 }"#)
            #expect(await values.next() == 3)
        }
    }

    @Test("a change of a file is noticed by polling where it cannot be watched", .deadlockLimit)
    func polling() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/base.json"
            try path.writeLayer(#"{ "port": 1 }"#)
            let suite = SettingsSuite.inMemory(reporter: reporter)
            let system = SystemCalls(fault: { call, _ in call == .watch ? Errno.noFunction : nil })
            let files = LayerFiles([.file(FilePath(path))], engine: suite.engine, system)
            files.watch()
            #expect(files.snapshot.documents.map(\.contents) == [["port": 1]])
            try path.replaceFile(with: #"{ "port": 2 }"#)
            await eventually("the new file is read") { files.snapshot.documents.map(\.contents) == [["port": 2]] }
        }
    }

    @Test(
        "a link in a directory that can be entered and not listed is polled",
        .deadlockLimit,
        arguments: [FileChange.linkReplaced, .configMapSwapped, .directoryAppears]
    )
    func unlistedDirectory(change: FileChange) async throws {
        try await withTemporaryDirectory { directory in
            func contents(_ number: Int) -> String { "{ \"port\": \(number) }" }
            try change.prepare("\(directory)/hidden", contents)
            let link = "\(directory)/hidden/leading"
            try FileManager.default.createDirectory(atPath: directory + "/hidden", withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "sub")
            let faults = Faults()
            let isLink = change != .directoryAppears
            faults.fail(.watch, with: Errno.permissionDenied) { $0.hasSuffix("/hidden") }
            let file = FilePath("\(isLink ? link : directory + "/hidden/sub")/port.json")
            let suite = SettingsSuite.inMemory(reporter: reporter)
            let files = LayerFiles([.file(file)], engine: suite.engine, faults.system)
            files.watch()
            #expect(!files.hasEvents)
            try change.perform("\(directory)/hidden", contents)
            await eventually("the new file is read") { files.snapshot.documents.map(\.contents) == [["port": 2]] }
        }
    }

    @Test("a path through a file, and one through a directory that cannot be entered, are watched", .deadlockLimit)
    func closedDirectory() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/sub/port.json"
            try "\(directory)/sub".overwriteFile(with: "")
            let faults = Faults()
            let suite = SettingsSuite.inMemory(reporter: reporter)
            let files = LayerFiles([.file(FilePath(path))], engine: suite.engine, faults.system)
            files.watch()
            #expect(files.hasEvents)
            try FileManager.default.removeItem(atPath: "\(directory)/sub")
            try path.writeLayer(#"{ "port": 1 }"#)
            await eventually("the new file is read") { files.snapshot.documents.map(\.contents) == [["port": 1]] }
            faults.fail(.watch, with: Errno.permissionDenied) { $0.hasSuffix("/sub") }
            let watch = PathWatch(faults.system) {
                PathWatch.Places(files: [FilePath("\(directory)/sub/below/port.json")])
            } handler: { _ in
            }
            watch.arm()
            #expect(watch.isUnwatched)
            faults.fail(.status, with: Errno.permissionDenied) { $0.hasSuffix("/below") }
            watch.arm()
            #expect(!watch.isUnwatched)
            faults.fail(.watch, with: Errno.permissionDenied) { $0.hasSuffix("/sub") || $0 == directory }
            watch.arm()
            #expect(watch.isUnwatched)
        }
    }

    @Test("a path through a directory that can be entered and not listed is watched", .deadlockLimit)
    func passedDirectory() async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/hidden/sub/port.json".writeLayer(#"{ "port": 1 }"#)
            let faults = Faults()
            faults.fail(.watch, with: Errno.permissionDenied) { $0.hasSuffix("/hidden") }
            let path = FilePath("\(directory)/hidden/sub/port.json")
            let suite = SettingsSuite.inMemory(reporter: reporter)
            let files = LayerFiles([.file(path)], engine: suite.engine, faults.system)
            files.watch()
            #expect(files.hasEvents)
            try path.description.replaceFile(with: #"{ "port": 2 }"#)
            await eventually("the new file is read") { files.snapshot.documents.map(\.contents) == [["port": 2]] }
        }
    }

    @Test("Observation is notified of a change that is visible, and of no other", .deadlockLimit)
    func observation() async throws {
        try await withLayer(#"{ "hidden": 3, "shown": 1 }"#, under: ["hidden": 5], reporter: reporter) { suite, path in
            let suite = suite.observable()
            let hidden = Setting("hidden", default: 0, suite: suite)
            let shown = Setting("shown", default: 0, suite: suite)
            let notified = Mutex<[String]>([])
            func track(_ setting: Setting<Int>) -> Int {
                withObservationTracking {
                    setting.value
                } onChange: {
                    notified.withLock { $0.append(setting.key) }
                }
            }
            #expect(track(hidden) == 5)
            #expect(track(shown) == 1)
            // What was delivered before the second change is visible after it.
            for value in 2...3 {
                try path.replaceFile(with: "{ \"hidden\": 3, \"shown\": \(value) }")
                await eventually("the tracking is notified") { notified.withLock { $0.count } >= value - 1 }
                #expect(track(shown) == value)
            }
            #expect(notified.withLock(\.self) == ["shown", "shown"])
            // Another thread may still be notifying, and then notifies of this change as well.
            try await hidden.reset()
            await eventually("the reset is noticed") { notified.withLock { $0.count } > 2 }
            #expect(notified.withLock(\.self) == ["shown", "shown", "hidden"])
            #expect(hidden.value == 3)
        }
    }

    @Test("a tracked read is notified of a change of a layer that another read has seen first", .deadlockLimit)
    func observedBesideOtherReads() async throws {
        try await withLayer(#"{ "port": 1 }"#, reporter: reporter) { suite, path in
            let suite = suite.observable()
            let port = Setting("port", default: 0, suite: suite)
            let isNotified = Mutex(false)
            withObservationTracking {
                _ = port.value
            } onChange: {
                isNotified.withLock { $0 = true }
            }
            try path.replaceFile(with: #"{ "port": 2 }"#)
            await eventually("another read sees the change, and the tracked one is notified") {
                port.value == 2 && isNotified.withLock(\.self)
            }
        }
    }
}
