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

    private static let separator = UInt8(ascii: " ")

    /// The identifiers with a space between each two, as the head has them.
    private(set) var bytes: [UInt8] = []

    /// A log without commits.
    init() {}

    /// Creates the log of the head's bytes.
    ///
    /// Bytes that no commit has written are identifiers that no commit has.
    init(_ bytes: [UInt8]) {
        for word in bytes.split(separator: Self.separator, maxSplits: Self.capacity).prefix(Self.capacity) {
            if !self.bytes.isEmpty { self.bytes.append(Self.separator) }
            self.bytes += word
        }
    }

    private var words: [ArraySlice<UInt8>] { bytes.split(separator: Self.separator) }

    var ids: [ID] { words.map { String(decoding: $0, as: UTF8.self) } }

    var last: ID? {
        bytes.isEmpty ? nil : String(decoding: bytes.prefix { $0 != Self.separator }, as: UTF8.self)
    }

    /// Whether the log has all commits since the first one.
    private var isComplete: Bool { bytes.count { $0 == Self.separator } < Self.capacity - 1 }

    func contains(_ id: ID) -> Bool { words.contains { $0.elementsEqual(id.utf8) } }

    /// The log after another commit.
    func adding(_ id: ID) -> CommitLog {
        var log = CommitLog()
        log.bytes.reserveCapacity(id.utf8.count + 1 + bytes.count)
        log.bytes += id.utf8
        guard !bytes.isEmpty else { return log }
        log.bytes.append(Self.separator)
        // A full log loses its oldest identifier.
        let end = isComplete ? nil : bytes.lastIndex(of: Self.separator)
        log.bytes += bytes[..<(end ?? bytes.endIndex)]
        return log
    }

    /// Whether this log is that of the commit after the last one of an earlier log.
    func isNext(after earlier: CommitLog) -> Bool { last.map { earlier.adding($0) == self } ?? false }

    /// Whether every commit since an earlier log is in this one, and the earlier state is a past state of this one.
    func continues(_ earlier: CommitLog) -> Bool {
        let (words, earlierWords) = (words, earlier.words)
        guard let last = earlierWords.first else { return isComplete }
        guard let index = words.firstIndex(of: last) else { return false }
        return zip(words[index...], earlierWords).allSatisfy { $0 == $1 }
    }

    /// Whether this log is certainly that of another history, because commits of an earlier log are missing between others.
    ///
    /// A log that shares no identifier with the earlier one may have lost those of its history.
    func isForked(from earlier: CommitLog) -> Bool {
        !continues(earlier) && (isComplete || ids.contains { earlier.contains($0) })
    }

    /// Whether this log is that of a suite that was created after an earlier log: it has all of its commits, and none of the earlier ones.
    func isAnew(after earlier: CommitLog) -> Bool {
        earlier.last != nil && isComplete && !ids.contains { earlier.contains($0) }
    }

    /// Returns an identifier that no other commit has.
    static func makeID() -> ID {
        String(UInt64.random(in: 0 ... .max), radix: 36)
    }
}
