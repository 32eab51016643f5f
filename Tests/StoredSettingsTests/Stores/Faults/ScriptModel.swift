// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// What a store must hold after the steps of a script, by its promises.
struct ScriptModel: Sendable {
    typealias Contents = [String: StoredValue]
    typealias Changes = [String: StoredValue?]

    /// The contents after each change that was acknowledged, the first of them those of an empty store.
    private var states: [Contents] = [[:]]
    /// The oldest of the states that a loss of power may leave.
    private var oldest = 0
    /// Assignments that were reported and are tried again.
    private(set) var pendingWrites: Changes = [:]
    /// What the step changes that is being made.
    private var inFlight: Changes = [:]
    /// What was edited by hand and need not have been noticed yet.
    private var unnoticed: Contents = [:]

    private var saved: Contents { states[states.count - 1] }

    /// What is read now.
    var contents: Contents { saved.applying(pendingWrites) }

    mutating func begin(_ changes: Changes) {
        inFlight = changes
    }

    mutating func acknowledge() {
        states.append(contents.applying(inFlight))
        pendingWrites = [:]
        inFlight = [:]
    }

    /// Takes note that the step has failed, so that it has changed nothing.
    mutating func fail() {
        inFlight = [:]
    }

    /// Takes note that an assignment has failed, and is kept.
    mutating func keep() {
        pendingWrites.merge(inFlight) { $1 }
        inFlight = [:]
    }

    /// Takes note that what was kept has been saved.
    mutating func flush() {
        guard !pendingWrites.isEmpty else { return }
        acknowledge()
    }

    /// Takes note that what was kept is lost, as was reported.
    mutating func lose() {
        pendingWrites = [:]
    }

    mutating func synchronize() {
        oldest = states.count - 1
    }

    /// Takes note of an edit that is on the disk, whatever else is.
    mutating func edit(_ changes: Contents) {
        for index in oldest..<states.count {
            states[index].merge(changes) { $1 }
        }
        unnoticed.merge(changes) { $1 }
    }

    /// Takes note that the file has been looked at.
    mutating func noticeEdits() {
        unnoticed = [:]
    }
}

// MARK: - What may be found

extension ScriptModel {
    /// Whether a suite that is in use may read something.
    func mayBeRead(_ found: Contents) -> Bool {
        found.filter { unnoticed[$0.key] == nil } == contents.filter { unnoticed[$0.key] == nil }
    }

    /// What may be found when the process has died: what was acknowledged, what is in flight whole or not at all, and what
    /// is being tried again.
    var afterDeath: [Contents] {
        unique([saved, saved.applying(inFlight), contents, contents.applying(inFlight)])
    }

    /// What may be found when the power was lost: nothing older than what was synchronized, and no later change without
    /// those before it.
    var afterPowerLoss: [Contents] {
        unique(states[oldest...] + afterDeath)
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

/// How contents differ from the nearest of those that are allowed.
func difference(_ found: ScriptModel.Contents, _ allowed: [ScriptModel.Contents]) -> String {
    let differences = allowed.map { [StoreChange](from: $0, to: found) }
    guard let nearest = differences.min(by: { $0.count < $1.count }) else { return "nothing is allowed" }
    let texts = nearest.map { change in
        let values = [change.new, change.old].map { $0.map { String("\($0)".prefix(40)) } ?? "nothing" }
        return "\(change.key): \(values[0]) instead of \(values[1])"
    }
    return "[\(texts.joined(separator: ", "))]"
}
