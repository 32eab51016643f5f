// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "A fence settles a lost answer".

/// The commits of this process that were sent, and whose senders have not returned.
struct SentCommits {
    enum Outcome: Hashable {
        /// No event of the commit has arrived.
        case unseen
        /// The revision is `nil` if the contents include the commit.
        case committed(at: Int64?)
        /// Events that could have shown the commit are lost.
        case lost
    }

    private var outcomes: [CommitLog.ID: Outcome] = [:]

    /// Returns what is known of a commit.
    func outcome(of id: CommitLog.ID) -> Outcome { outcomes[id] ?? .lost }

    func contains(_ id: CommitLog.ID) -> Bool { outcomes[id] != nil }

    /// Adds a commit that is about to be sent.
    mutating func add(_ id: CommitLog.ID) {
        outcomes[id] = .unseen
    }

    /// Forgets a commit whose outcome is known.
    mutating func forget(_ id: CommitLog.ID) {
        outcomes[id] = nil
    }

    /// Notes that the event of a commit has arrived, which its sender applies.
    mutating func noteEvent(of id: CommitLog.ID, at revision: Int64) {
        outcomes[id] = .committed(at: revision)
    }

    /// Lets the events of a commit be applied whose sender does not apply it in time.
    mutating func abandon(_ id: CommitLog.ID) {
        if contains(id) { outcomes[id] = .committed(at: nil) }
    }

    /// Whether the events of a commit are applied without its sender.
    func isAbandoned(_ id: CommitLog.ID) -> Bool { outcomes[id] == .committed(at: nil) }

    /// Notes that the contents were replaced.
    ///
    /// - Parameters:
    ///   - log: The log of the new contents.
    ///   - earlier: The log of the previous contents.
    /// - Returns: Whether the last commit of the new contents is one of these.
    mutating func noteRange(_ log: CommitLog, after earlier: CommitLog) -> Bool {
        let isOwn = log.last.map { outcomes[$0] == .unseen } ?? false
        for (id, outcome) in outcomes where outcome != .committed(at: nil) {
            if log.contains(id) {
                outcomes[id] = .committed(at: nil)
            } else if outcome == .unseen, !log.continues(earlier) {
                outcomes[id] = .lost
            }
        }
        return isOwn
    }
}
