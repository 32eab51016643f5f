// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// The contents that a store must have after the steps of a script.
struct ScriptModel: Sendable {
    typealias Contents = [String: StoredValue]
    typealias Changes = [String: StoredValue?]

    /// The contents after each acknowledged change, starting with an empty store.
    private var states: [Contents] = [[:]]
    /// The index of the oldest state that a power loss may leave.
    private var oldest = 0
    /// Assignments that were reported and are retried.
    private(set) var pendingWrites: Changes = [:]
    private var inFlight: Changes = [:]
    /// Manual edits that the suite need not have noticed yet.
    private var unnoticed: Contents = [:]

    private var saved: Contents { states[states.count - 1] }

    /// The contents that are read now.
    var contents: Contents { saved.applying(pendingWrites) }

    mutating func begin(_ changes: Changes) {
        inFlight = changes
    }

    mutating func acknowledge() {
        states.append(contents.applying(inFlight))
        pendingWrites = [:]
        inFlight = [:]
    }

    /// Records that the step has failed and changed nothing.
    mutating func fail() {
        inFlight = [:]
    }

    /// Records that an assignment has failed and is pending.
    mutating func addPendingWrites() {
        pendingWrites.merge(inFlight) { $1 }
        inFlight = [:]
    }

    mutating func savePendingWrites() {
        guard !pendingWrites.isEmpty else { return }
        acknowledge()
    }

    /// Records that the pending writes are lost, which was reported.
    mutating func discardPendingWrites() {
        pendingWrites = [:]
    }

    mutating func synchronize() {
        oldest = states.count - 1
    }

    /// Records an edit that is durable.
    mutating func edit(_ changes: Contents) {
        for index in oldest..<states.count {
            states[index].merge(changes) { $1 }
        }
        unnoticed.merge(changes) { $1 }
    }

    /// Records that the suite has checked the file.
    mutating func noticeEdits() {
        unnoticed = [:]
    }
}

// MARK: - Allowed contents

extension ScriptModel {
    func allows(_ found: Contents) -> Bool {
        found.filter { unnoticed[$0.key] == nil } == contents.filter { unnoticed[$0.key] == nil }
    }

    /// The contents that may remain when the process dies: all acknowledged changes, each change in flight entirely or
    /// not at all, and the pending writes.
    var afterKill: [Contents] {
        unique([saved, saved.applying(inFlight), contents, contents.applying(inFlight)])
    }

    /// The contents that may remain after a power loss: nothing older than the last synchronization, and no later
    /// change without its predecessors.
    var afterPowerLoss: [Contents] {
        unique(states[oldest...] + afterKill)
    }

    private func unique(_ contents: [Contents]) -> [Contents] {
        contents.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

extension [String: StoredValue] {
    fileprivate func applying(_ changes: ScriptModel.Changes) -> Self {
        changes.reduce(into: self) { $0[$1.key] = $1.value }
    }
}

/// The differences from the closest allowed contents.
func difference(_ found: ScriptModel.Contents, _ allowed: [ScriptModel.Contents]) -> String {
    let differences = allowed.map { [StoreChange](from: $0, to: found) }
    guard let nearest = differences.min(by: { $0.count < $1.count }) else { return "no contents are allowed" }
    let descriptions = nearest.map { change in
        let values = [change.new, change.old].map { $0.map { String("\($0)".prefix(40)) } ?? "nothing" }
        return "\(change.key): \(values[0]) instead of \(values[1])"
    }
    return "[\(descriptions.joined(separator: ", "))]"
}
