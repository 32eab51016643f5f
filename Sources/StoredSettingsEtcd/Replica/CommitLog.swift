// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "The head names the last commits".

/// The identifiers of the last commits, newest first, which every commit writes to the head of its suite.
///
/// A commit is based on the log that it extends. So the log tells whether a commit has happened, whether a replica has missed
/// one, and whether the state of etcd was replaced by an older one.
struct CommitLog: Hashable, Sendable {
    typealias ID = String

    /// The number of identifiers, which bounds the size of the head.
    static let capacity = 16

    private(set) var ids: [ID]

    /// A log without commits.
    init() {
        ids = []
    }

    /// Creates the log of the head's bytes.
    ///
    /// Bytes that no commit has written are identifiers that no commit has.
    init(_ bytes: [UInt8]) {
        let words = bytes.split(separator: UInt8(ascii: " "), maxSplits: Self.capacity)
        ids = words.prefix(Self.capacity).map { String(decoding: $0, as: UTF8.self) }
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        // An identifier has at most 13 digits.
        bytes.reserveCapacity(ids.count * 14)
        for id in ids {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: " ")) }
            bytes += id.utf8
        }
        return bytes
    }

    var last: ID? { ids.first }

    /// Whether the log has all commits since the first one.
    private var isComplete: Bool { ids.count < Self.capacity }

    func contains(_ id: ID) -> Bool { ids.contains(id) }

    /// The log after another commit.
    func adding(_ id: ID) -> CommitLog {
        var log = self
        log.ids.insert(id, at: 0)
        log.ids = Array(log.ids.prefix(Self.capacity))
        return log
    }

    /// Whether this log is that of the commit after the last one of an earlier log.
    func isNext(after earlier: CommitLog) -> Bool { earlier.adding(last ?? "") == self }

    /// Whether every commit since an earlier log is in this one, and the earlier state is a past state of this one.
    func continues(_ earlier: CommitLog) -> Bool {
        guard let last = earlier.last else { return isComplete }
        guard let index = ids.firstIndex(of: last) else { return false }
        return zip(ids[index...], earlier.ids).allSatisfy { $0 == $1 }
    }

    /// Whether this log is certainly that of another history, because commits of an earlier log are missing between others.
    ///
    /// A log that shares no identifier with the earlier one may have lost those of its history.
    func isForked(from earlier: CommitLog) -> Bool {
        !continues(earlier) && (isComplete || ids.contains { earlier.contains($0) })
    }

    /// Returns an identifier that no other commit has.
    static func makeID() -> ID {
        String(UInt64.random(in: 0 ... .max), radix: 36)
    }
}
