// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

@testable import StoredSettingsEtcd

@Suite("The state of a replica")
struct ReplicaStateTests {
    @Test("All changes of a revision become visible together")
    func revisions() {
        let trial = ReplicaTrial(installed: ["a": "1"], at: 5)
        let progress = trial.apply([.put("a", "2", 6), .delete("b", 6), .put("c", "3", 6), .put("a", "4", 7)])
        #expect(progress == .applied)
        #expect(trial.takeCommits() == [.external(["a": 2, "c": 3]), .external(["a": 4])])
        #expect(trial.state.revision == 7)
    }

    @Test("Events that are known already are ignored, also those of removed keys")
    func duplicates() {
        let trial = ReplicaTrial(installed: ["a": "1"], at: 5)
        #expect(trial.apply([.put("a", "0", 4), .put("b", "0", 5)]) == .applied)
        #expect(trial.apply([.put("a", "2", 6), .put("b", "2", 6)]) == .applied)
        #expect(trial.apply([.delete("b", 7)]) == .applied)
        _ = trial.takeCommits()
        #expect(trial.apply([.put("a", "2", 6), .put("b", "2", 6), .delete("b", 7)]) == .applied)
        #expect(trial.takeCommits() == [])
        #expect(trial.state.visible == ["a": 2])
    }

    @Test("An unknown event of an earlier revision is a gap")
    func reordered() {
        let trial = ReplicaTrial(installed: ["a": "1"], at: 5)
        #expect(trial.apply([.put("a", "3", 7)]) == .applied)
        #expect(trial.apply([.put("b", "2", 6)]) == .gap)
        #expect(trial.state.visible == ["a": 3])
    }

    @Test("A commit whose predecessor is unknown is a gap, and is not applied")
    func missingCommit() {
        let trial = ReplicaTrial(installed: [:], at: 5, log: ["i"])
        #expect(trial.apply([.put("a", "1", 6), .head(["j", "i"], 6)]) == .applied)
        #expect(trial.apply([.put("a", "3", 8), .head(["l", "k", "j", "i"], 8)]) == .gap)
        #expect(trial.state.visible == ["a": 1])
        #expect(trial.state.revision == 6)
    }

    @Test("An own commit is recorded once, as local, whether its event or its response arrives first")
    func ownCommits() {
        for isEventFirst in [true, false] {
            let trial = ReplicaTrial(installed: ["a": "1"], at: 5, log: ["i"])
            trial.state.sent.add("j")
            // The sender applies it, so the watch waits.
            let edits = [StoreChange(key: "a", old: 1, new: 2)]
            let events: [EtcdEvent] = [.put("a", "2", 8), .head(["j", "i"], 8)]
            if isEventFirst {
                #expect(trial.apply(events) == .own("j"))
                #expect(trial.state.sent.outcome(of: "j") == .committed(at: 8))
                #expect(trial.takeCommits() == [])
            }
            trial.state.confirm("j", edits, at: 8, since: .init(revision: 5))
            #expect(trial.apply(events) == .applied)
            #expect(trial.takeCommits() == [.local(["a": 2])])
            #expect(trial.state.revision == 8)
            #expect(trial.state.headBytes == Array("j i".utf8))
            // The next commit of another process is not taken for a gap.
            #expect(trial.apply([.put("a", "3", 9), .head(["k", "j", "i"], 9)]) == .applied)
            #expect(trial.takeCommits() == [.external(["a": 3])])
        }
    }

    @Test("An acknowledged commit that later events have overtaken changes nothing")
    func overtakenConfirmation() {
        let trial = ReplicaTrial(installed: [:], at: 5, log: ["i"])
        trial.state.sent.add("j")
        let events: [EtcdEvent] = [
            .put("a", "2", 6), .head(["j", "i"], 6), .put("a", "3", 7), .head(["k", "j", "i"], 7),
        ]
        #expect(trial.apply(events) == .own("j"))
        // The sender takes too long.
        trial.state.sent.abandon("j")
        #expect(trial.apply(events) == .applied)
        trial.state.confirm("j", [StoreChange(key: "a", old: nil, new: 2)], at: 6, since: .init(revision: 5))
        #expect(trial.state.visible == ["a": 3])
        #expect(trial.takeCommits() == [.local(["a": 2]), .external(["a": 3]), .local([:])])
    }

    @Test("A removal by another program just before an own commit is a gap, and the end of a fence is none")
    func removalBeforeOwnCommit() {
        let trial = ReplicaTrial(installed: ["x": "1"], at: 5, log: ["i"])
        trial.state.sent.add("j")
        trial.state.confirm("j", [StoreChange(key: "a", old: nil, new: 2)], at: 8, since: .init(revision: 5))
        #expect(trial.apply([.fence(6)]) == .applied)
        #expect(trial.apply([.put("a", "2", 8), .head(["j", "i"], 8)]) == .applied)
        #expect(trial.apply([.delete("x", 7)]) == .gap)
    }

    @Test("A commit of this process does not overtake an assignment that was made meanwhile, but another one does")
    func assignmentBesideCommit() throws {
        let trial = ReplicaTrial(installed: ["a": "1"], at: 5, log: ["i"])
        trial.state.sent.add("j")
        _ = trial.state.assign(["a": 9])
        trial.state.confirm("j", [StoreChange(key: "a", old: 1, new: 2)], at: 8, since: .init(revision: 5))
        let batch = try #require(trial.state.pending.batches.first)
        #expect(!trial.state.isOvertaken(batch))
        #expect(trial.state.visible == ["a": 9])
        _ = trial.apply([.put("a", "3", 9), .head(["k", "j", "i"], 9)])
        #expect(trial.state.isOvertaken(batch))
    }

    @Test("The watch is resumed only if the head shows that the replica is a past state")
    func resuming() {
        let trial = ReplicaTrial(installed: ["a": "1"], at: 50, log: ["j", "i"])
        #expect(trial.verify(log: ["j", "i"], written: 50, at: 50))
        #expect(trial.verify(log: ["l", "k", "j", "i"], written: 60, at: 61))
        #expect(!trial.verify(log: ["j", "i"], written: 50, at: 49))
        #expect(!trial.verify(log: ["i"], written: 40, at: 70))
        #expect(!trial.verify(log: ["m", "i"], written: 60, at: 70))
        #expect(!trial.verify(log: ["l", "k", "j", "i"], written: 60, at: 61, cluster: 2))
        let others = (0..<CommitLog.capacity).map { "n\($0)" }
        #expect(!trial.verify(log: others, written: 60, at: 70))
        trial.state.forgetHistory()
        #expect(!trial.verify(log: ["j", "i"], written: 50, at: 50))
        #expect(!trial.state.isVerified)
    }

    @Test("Keys without values show a lost change and a lost removal")
    func comparison() {
        let trial = ReplicaTrial(installed: ["a": "1", "b": "1"], at: 5)
        #expect(trial.includes(["a": 5, "b": 5], at: 6))
        #expect(!trial.includes(["a": 6, "b": 5], at: 6))
        #expect(!trial.includes(["a": 5], at: 6))
        #expect(!trial.includes(["a": 5, "b": 5, "c": 6], at: 6))
        // The replica may be newer than the answer.
        _ = trial.apply([.put("c", "1", 7)])
        #expect(trial.includes(["a": 5, "b": 5], at: 6))
        // The fence is written by other stores, and has no value.
        #expect(trial.includes(["a": 5, "b": 5], fence: 6, at: 6))
    }

    @Test("Older revisions of keys show that a backup was restored")
    func comparisonWithBackup() {
        let trial = ReplicaTrial(installed: ["a": "1", "b": "1"], at: 5)
        _ = trial.apply([.put("a", "2", 7)])
        // Other suites may have raised the revision beyond the known one.
        #expect(!trial.includes(["a": 5, "b": 5], at: 9))
        #expect(!trial.includes(["a": 7, "b": 5], at: 6, since: 7))
        #expect(trial.includes(["a": 7, "b": 5], at: 9, since: 7))
        // The event may have arrived after the request was answered.
        #expect(trial.includes(["a": 5, "b": 5], at: 6, since: 5))
    }

    @Test("A commit of unknown outcome is found in the events, or they show that it has not happened")
    func outcomes() {
        let trial = ReplicaTrial(installed: [:], at: 5, log: ["i"])
        trial.state.sent.add("j")
        trial.state.sent.add("x")
        let events: [EtcdEvent] = [.head(["j", "i"], 6), .head(["k", "j", "i"], 7)]
        #expect(trial.apply(events) == .own("j"))
        #expect(trial.state.sent.outcome(of: "j") == .committed(at: 6))
        trial.state.confirm("j", [], at: 6, since: .init(revision: 5))
        #expect(trial.apply(events) == .applied)
        #expect(trial.state.sent.outcome(of: "x") == .unseen)
        trial.install([:], at: 9, log: ["l", "k", "j", "i"])
        #expect(trial.state.sent.outcome(of: "x") == .unseen)
        trial.install([:], at: 99, log: (0..<CommitLog.capacity).map { "n\($0)" })
        #expect(trial.state.sent.outcome(of: "x") == .lost)
    }

    @Test("Bytes that are not JSON are a string, and names that are not UTF-8 are ignored")
    func foreignBytes() {
        let trial = ReplicaTrial(installed: ["a": "hello", "b": "{\"c\":", "c": "[1]"], at: 5)
        #expect(trial.state.visible == ["a": "hello", "b": "{\"c\":", "c": [1]])
        var event = EtcdEvent.put("d", "1", 6)
        event.keyValue.key += [0xFF]
        #expect(trial.apply([event, .put("", "1", 6)]) == .applied)
        #expect(trial.state.visible.count == 3)
    }
}

@Suite("The log of commits")
struct CommitLogTests {
    @Test("A log has the last commits, survives its bytes, and is bounded")
    func bounded() {
        var log = CommitLog()
        for number in 0..<40 { log = log.adding("\(number)") }
        #expect(log.ids == (24..<40).reversed().map(String.init))
        #expect(CommitLog(log.bytes) == log)
        #expect(CommitLog([]) == CommitLog())
        #expect(CommitLog(Array(repeating: 0x20, count: 5_000)).ids == [])
        #expect(CommitLog(Array("a b ".utf8) + [UInt8](repeating: 0x61, count: 5_000)).ids.count == 3)
    }
}
