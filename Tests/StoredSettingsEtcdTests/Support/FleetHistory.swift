// SPDX-License-Identifier: Apache-2.0

/// The history of a fleet whose processes have printed their commits, with one restored backup or none.
///
/// Each commit names the one that it replaces, so the commits are a tree. Without a backup, it is a list. With one, it has two
/// branches, which begin at the last commit of the backup.
struct FleetHistory {
    /// The times of the backup and its restoration, in nanoseconds.
    struct Times {
        var saveBegan: UInt64 = 0
        var saveEnded: UInt64 = 0
        /// No member ran.
        var stopped: UInt64 = 0
    }

    private struct Commit {
        var parent: String
        var count: Int
        var acknowledged: ClosedRange<UInt64>?
        var isUnknown = false
    }

    private struct State {
        var label: String
        var notes: [Int] = []
    }

    /// The label before the first commit.
    private static let root = "-"

    private var commits: [String: Commit] = [:]
    private var states: [[State]] = []
    private var ends: [(label: String, count: Int)] = []
    private(set) var findings: Set<String> = []
    /// The numbers of acknowledged commits that were lost, that were stored after the restoration, and of unknown outcome.
    private(set) var lost = 0
    private(set) var later = 0
    private(set) var unknown = 0

    init(_ outputs: [String]) {
        for output in outputs {
            var (seen, streamed): ([State], [State]) = ([], [])
            for line in output.split(separator: "\n") {
                let words = line.split(separator: " ").map(String.init)
                switch words.first {
                case "try": commits[words[1]] = Commit(parent: words[2], count: Int(words[3]) ?? 0)
                case "ok":
                    let (start, end) = (UInt64(words[2]) ?? 0, UInt64(words[3]) ?? 0)
                    commits[words[1]]?.acknowledged = start...end
                case "unknown": commits[words[1]]?.isUnknown = true
                case "see":
                    seen.append(State(label: words[1], notes: words[2].split(separator: ",").compactMap { Int($0) }))
                case "stream": streamed.append(State(label: words[1]))
                case "end": ends.append((words[1], Int(words[2]) ?? 0))
                case "idle": break
                default: findings.insert(String(line))
                }
            }
            states += [seen, streamed]
        }
        unknown = commits.values.count { $0.isUnknown }
    }

    private static func client(_ label: String) -> Int { Int(label.prefix { $0 != ":" }) ?? -1 }

    private static func attempt(_ label: String) -> Int {
        label.lastIndex(of: ":").flatMap { Int(label[label.index(after: $0)...]) } ?? 0
    }

    /// The commits up to a label, oldest first.
    private mutating func path(to label: String) -> [String] {
        var path: [String] = []
        var label = label
        while label != Self.root {
            guard let commit = commits[label], path.count <= commits.count else {
                findings.insert("\(label) was never committed")
                break
            }
            path.append(label)
            label = commit.parent
        }
        return path.reversed()
    }

    /// Checks the history, and adds what is wrong to ``findings``.
    mutating func check(_ contents: [String: Int], last: String, _ times: Times) {
        let surviving = path(to: last)
        let survivors = Set(surviving)
        for (index, label) in surviving.enumerated() {
            guard let commit = commits[label] else { continue }
            if commit.count != index + 1 { findings.insert("\(label) is based on a count that is not its parent's") }
            if commit.acknowledged == nil, !commit.isUnknown { findings.insert("\(label) was not acknowledged") }
        }
        if contents["count"] != surviving.count { findings.insert("the count is not the number of commits") }
        for (client, labels) in Dictionary(grouping: surviving, by: Self.client)
        where contents["client/\(client)"] != labels.count {
            findings.insert("client \(client) has another number of commits")
        }
        if !ends.allSatisfy({ $0 == (last, surviving.count) }) { findings.insert("a process has another last state") }

        let lostCommits = commits.filter { $0.value.acknowledged != nil && !survivors.contains($0.key) }
        lost = lostCommits.count
        guard let newest = lostCommits.max(by: { $0.value.count < $1.value.count })?.key else {
            for sequence in states { checkOrder(sequence, survivors, surviving.count) }
            return
        }
        let lostPath = path(to: newest)
        let trunk = zip(surviving, lostPath).prefix { $0 == $1 }.map(\.0)
        let depth = trunk.count
        let lostBranch = Set(lostPath.dropFirst(depth))
        for (label, commit) in lostCommits {
            if !lostBranch.contains(label) { findings.insert("\(label) is lost for another reason") }
            if commit.acknowledged.map({ $0.lowerBound >= times.stopped }) ?? true {
                findings.insert("\(label) was lost after the restoration")
            }
            if commit.acknowledged.map({ $0.upperBound < times.saveBegan }) ?? true {
                findings.insert("\(label) was lost although it is older than the backup")
            }
        }
        for label in trunk where commits[label]?.acknowledged.map({ $0.lowerBound > times.saveEnded }) ?? false {
            findings.insert("\(label) was not lost although it is newer than the backup")
        }
        for label in surviving.dropFirst(depth) {
            guard let acknowledged = commits[label]?.acknowledged else { continue }
            later += 1
            if acknowledged.upperBound < times.stopped { findings.insert("\(label) was not lost with its parent") }
        }
        for sequence in states { checkOrder(sequence, survivors, depth) }
        checkNotes(trunk: trunk, lostBranch: lostBranch, after: Set(surviving.dropFirst(depth)))
    }

    /// States move forward, except once, from a state that is lost to one that is not.
    private mutating func checkOrder(_ sequence: [State], _ survivors: Set<String>, _ depth: Int) {
        var (last, isRestored) = (0, false)
        for state in sequence {
            let count = state.label == Self.root ? 0 : commits[state.label]?.count ?? -1
            let isLost = count > depth && !survivors.contains(state.label)
            let isBackup = !isLost && count >= depth
            if !isRestored, isBackup, count < last || count > depth {
                (last, isRestored) = (count, true)
                continue
            }
            if isRestored && isLost { findings.insert("the lost state \(state.label) has returned") }
            if count < last { findings.insert("the state \(state.label) is older than the one before") }
            last = count
        }
    }

    /// An assignment that was acknowledged and then lost is in no state after the restoration.
    private mutating func checkNotes(trunk: [String], lostBranch: Set<String>, after: Set<String>) {
        let kept = Dictionary(grouping: trunk, by: Self.client).mapValues { $0.map(Self.attempt).max() ?? 0 }
        let lost = Dictionary(grouping: lostBranch, by: Self.client).mapValues { $0.map(Self.attempt).max() ?? 0 }
        for state in states.joined() where after.contains(state.label) {
            for (client, note) in state.notes.enumerated() {
                let (first, last) = (kept[client] ?? 0, lost[client] ?? 0)
                // The last assignment before the restoration was possibly not acknowledged.
                if note > first, note < last { findings.insert("a lost assignment of client \(client) has returned") }
            }
        }
    }
}
