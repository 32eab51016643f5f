// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport

@testable import StoredSettings

/// Plays a script on a file store, and maintains a model of the store's contents.
final class ScriptPlayer: Sendable {
    let path: String
    let reporter = RecordingReporter()

    private let system: SystemCalls
    private let state: Mutex<(suite: SettingsSuite, model: ScriptModel)>

    init(path: String, system: SystemCalls, model: ScriptModel = ScriptModel()) {
        self.path = path
        self.system = system
        state = Mutex((Self.suite(path, system, reporter), model))
    }

    /// Creates a suite with its own store, as another process would have, which checkpoints only on request.
    static func suite(_ path: String, _ system: SystemCalls, _ reporter: RecordingReporter) -> SettingsSuite {
        SettingsSuite(store: makeStore(path, system), reporter: reporter)
    }

    var suite: SettingsSuite { state.withLock(\.suite) }

    /// The expected contents, which are also valid during a step.
    var model: ScriptModel { state.withLock(\.model) }

    private func change(_ body: @Sendable (inout ScriptModel) -> Void) {
        state.withLock { body(&$0.model) }
    }

    /// Plays one step.
    ///
    /// - Throws: The error of the step, which then has changed nothing.
    func play(_ step: Script.Step) throws {
        switch step {
        case .read: _ = suite.snapshot()
        case .set(let key, let value): try commit([key: value]) { try $0.setStoredValue(value, forKey: key) }
        case .remove(let key): try commit([key: nil]) { try $0.setStoredValue(nil, forKey: key) }
        case .update(let key, let increment):
            let new = (model.contents[key]?.integer ?? 0) + Int128(increment)
            try commit([key: .integer(new)]) { _ in try count(key).update { $0 += increment } }
        case .transaction(let changes):
            try commit(changes) { suite in
                try suite.transaction { transaction in
                    for (key, value) in changes { transaction[storedValueFor: key] = value }
                }
            }
        case .assign(let key, let number): assign(number, to: key)
        case .synchronize:
            try suite.synchronize()
            change { $0.savePendingWrites() }
            change { $0.synchronize() }
        case .markUnreliable: (suite.engine.store as? FileStore)?.peek { $0.journal.journal?.markUnreliable() }
        case .checkpoint:
            try suite.checkpoint()
            change { $0.savePendingWrites() }
            change { $0.synchronize() }
            change { $0.noticeEdits() }
        case .edit(let changes): try edit(changes)
        case .reopen: try reopen()
        }
    }

    private func count(_ key: String) -> Setting<Int> { Setting(key, default: 0, suite: suite) }

    private func commit(_ changes: ScriptModel.Changes, _ body: (SettingsSuite) throws -> Void) throws {
        change { $0.begin(changes) }
        do {
            try body(suite)
            change { $0.acknowledge() }
        } catch {
            change { $0.fail() }
            throw error
        }
    }

    private func assign(_ number: Int, to key: String) {
        change { $0.begin([key: .integer(Int128(number))]) }
        count(key).value = number
        let isSaved = !suite.engine.isPending(key)
        change { isSaved ? $0.acknowledge() : $0.addPendingWrites() }
    }

    /// Edits the file like an editor that synchronizes its changes.
    private func edit(_ changes: ScriptModel.Contents) throws {
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        var contents = try FileManager.default.fileExists(atPath: path) ? Self.contents(ofFileAt: path) : [:]
        contents.merge(changes) { $1 }
        try path.replaceFile(with: String(decoding: JSONWriter.prettyText(of: .dictionary(contents)), as: UTF8.self))
        try Self.backdate(path)
        change { $0.edit(changes) }
    }

    static func contents(ofFileAt path: String) throws -> ScriptModel.Contents {
        try JSONReader.readObject(Array(path.fileContents.utf8))
    }

    /// Makes a file, if it exists, look old, so that readers do not wait for another process to finish writing it.
    static func backdate(_ path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        try path.backdateFile(by: 10)
    }

    private func reopen() throws {
        let (errors, keys) = (reporter.errors.count, model.pendingWrites.keys)
        let ended = suite
        ended.finish()
        try Self.backdate(path)
        let isLost = keys.contains { ended.engine.isPending($0) }
        let isSynchronized = reporter.errors.count == errors
        let next = Self.suite(path, system, reporter)
        state.withLock { state in
            isLost ? state.model.discardPendingWrites() : state.model.savePendingWrites()
            if isSynchronized { state.model.synchronize() }
            state.model.noticeEdits()
            state.suite = next
        }
    }
}

extension StoredValue {
    fileprivate var integer: Int128? {
        guard case .integer(let number) = self else { return nil }
        return number
    }
}
