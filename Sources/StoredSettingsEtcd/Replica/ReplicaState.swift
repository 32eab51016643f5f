// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "The replica is a past state".

import StoredSettings

/// The replica of a suite: a value whose methods follow the revisions of etcd.
///
/// The methods run under the lock of ``Replica``. What has to happen after the lock is released is added to ``effects``.
struct ReplicaState {
    private let layout: ReplicaLayout

    /// The values in etcd as of ``revision``.
    private(set) var contents: ReplicaContents
    /// The revision whose changes, and all earlier ones, are included.
    private(set) var revision: Int64 = 0
    /// The revision up to which events are certainly included.
    private var floor: Int64 = 0
    private(set) var clusterID: UInt64?
    /// The revision of the last change of a key of the prefix that was noticed.
    private(set) var lastChange: Int64 = 0
    /// The number of times that contents were replaced by others that are not known to continue them.
    private(set) var restorations = 0
    /// The log at ``revision``, and the revision that has written it.
    private(set) var log = CommitLog()
    private(set) var headBytes: [UInt8]?
    private(set) var headRevision: Int64 = 0
    /// Whether the contents are those of the cluster, possibly at an earlier revision.
    private(set) var isVerified = false
    /// Whether the watch cannot be resumed.
    private var isHistoryLost = false
    /// Whether there are contents, from a server or from the disk.
    private(set) var hasContents = false
    /// Whether a server has given this process the whole contents.
    private(set) var isFromServer = false
    /// Whether the contents are those of a restored backup, and replace a newer replica on the disk.
    var isRestored = false

    /// The assignments that no server has acknowledged.
    var pending = PendingAssignments()
    /// The values that reads return.
    private(set) var visible: [String: StoredValue] = [:]
    /// Increases with every change of the visible values.
    private(set) var version: UInt64 = 1

    /// The error of the first assignment of this process that was dropped since the last synchronization.
    private var firstDropped: SettingsError?
    /// The kind of error that was reported because assignments cannot be sent.
    private var sendingProblem: SettingsError.Code?
    /// The commits of this process whose senders have not returned.
    var sent = SentCommits()

    weak var observer: (any StoreObserver)?
    /// Whether there has been an observer.
    var wasObserved = false
    var isClosed = false
    /// The error that prevents a current read.
    var problem: SettingsError?
    var effects = Effects()
    private let storeVersion: StoreVersion

    init(_ layout: ReplicaLayout, _ storeVersion: StoreVersion) {
        (self.layout, self.storeVersion) = (layout, storeVersion)
        contents = ReplicaContents(layout)
    }

    var stored: [String: StoredValue] { contents.values }

    var start: Start { Start(revision: revision, restorations: restorations) }

    // MARK: - Whole contents

    /// Replaces the contents by those of etcd, with the difference as one commit.
    ///
    /// - Parameters:
    ///   - result: All keys of the prefix, read with the agreement of a quorum.
    ///   - start: ``start`` when the request was sent.
    /// - Returns: `false` if the result is ignored, because events have overtaken it, or because a backup was restored meanwhile.
    mutating func install(_ result: EtcdRangeResult, since start: Start) -> Bool {
        // The result may be that of the time before the backup, whose revisions say nothing about its age.
        guard start.restorations == restorations else { return false }
        let isSameCluster = clusterID == nil || clusterID == result.header.clusterID
        // A revision below that of the start belongs to a cluster whose data were replaced by a backup.
        let isRestored = !isSameCluster || result.header.revision < start.revision
        guard isRestored || result.header.revision >= revision else { return false }
        let (earlierLog, earlier, hadContents) = (log, stored, hasContents)
        let head = result.keyValues.first { $0.key == layout.head }
        contents = ReplicaContents(layout, result.keyValues)
        (headBytes, headRevision) = (head?.value, head?.modRevision ?? 0)
        log = CommitLog(head?.value ?? [])
        (revision, floor, clusterID) = (result.header.revision, result.header.revision, result.header.clusterID)
        (isVerified, isHistoryLost, hasContents, isFromServer) = (true, false, true, true)
        self.isRestored = self.isRestored || isRestored
        // The revision of a restored backup may have grown beyond the known one. Too many missed commits look the same.
        if isRestored || (hadContents && !log.continues(earlierLog)) { restorations += 1 }
        lastChange = result.keyValues.map(\.modRevision).max() ?? 0
        let isOwn = sent.noteRange(log, after: earlierLog)
        let changes = [StoreChange](from: earlier, to: stored)
        fillBases()
        publish(changes, isOwn ? .local : .external)
        return true
    }

    /// Uses contents from the disk until a server can be reached.
    mutating func restore(_ saved: SavedReplica) {
        guard !hasContents else { return }
        (revision, floor, clusterID) = (saved.revision, saved.revision, saved.clusterID)
        hasContents = true
        let changes = [StoreChange](from: stored, to: saved.values)
        contents = ReplicaContents(layout, saved)
        (headBytes, headRevision) = (saved.head, saved.headRevision)
        log = CommitLog(saved.head ?? [])
        publish(changes, .external)
    }

    /// Verifies that the contents are a past state of those in etcd, so that the watch can be resumed.
    ///
    /// - Parameter head: The result of a range of the head with the agreement of a quorum.
    /// - Returns: Whether they are.
    mutating func verify(with head: EtcdRangeResult) -> Bool {
        guard hasContents, !isHistoryLost, clusterID == head.header.clusterID, head.header.revision >= revision else {
            return false
        }
        let keyValue = head.keyValues.first { $0.key == layout.head }
        guard keyValue?.modRevision ?? 0 >= headRevision, CommitLog(keyValue?.value ?? []).continues(log) else {
            return false
        }
        isVerified = true
        return true
    }

    /// Whether the contents have all changes up to the revision of a result, which has the keys without their values.
    ///
    /// - Parameters:
    ///   - result: The keys, read with the agreement of a quorum.
    ///   - start: ``start`` when the request was sent.
    /// - Returns: Whether they have. Otherwise, events are lost, or the data of etcd were replaced.
    func includes(_ result: EtcdRangeResult, since start: Start) -> Bool {
        guard clusterID == result.header.clusterID, result.header.revision >= start.revision else { return false }
        let hasHead = headBytes == nil || result.keyValues.contains { $0.key == layout.head }
        return contents.include(result) && (hasHead || headRevision > result.header.revision)
    }

    /// Throws if a result is not that of the cluster whose contents are known, or of a backup of them.
    ///
    /// A person accepts another cluster by a key in it, for all processes.
    ///
    /// - Parameter result: All keys of the prefix.
    /// - Throws: ``EtcdError`` with ``EtcdError/Code/otherCluster``.
    func checkCluster(of result: EtcdRangeResult) throws(EtcdError) {
        let header = result.header
        let accepted = result.keyValues.first { $0.key == layout.cluster }?.value
        let head = result.keyValues.first { $0.key == layout.head }?.value
        // Without values, nothing is lost.
        guard !stored.isEmpty, accepted != ReplicaLayout.identifier(of: header.clusterID) else { return }
        if let clusterID, clusterID != header.clusterID {
            throw EtcdError(
                .otherCluster,
                "the servers belong to the cluster \(header.clusterID), and the last known values to \(clusterID)"
            )
        }
        // A wiped directory keeps the identifier, and its revision may have grown. The removal of all keys by another program looks the
        // same, unless a watch has shown it.
        guard headBytes == nil || head != nil else {
            throw EtcdError(.otherCluster, "the servers lack the key 'head' of the suite, which every change writes")
        }
        guard !CommitLog(head ?? []).isAnew(after: log) else {
            throw EtcdError(.otherCluster, "the suite of the servers has begun anew, without the last known changes")
        }
    }

    /// Compares the contents of a result with those of the replica.
    ///
    /// - Parameters:
    ///   - result: All keys of the prefix.
    ///   - start: ``start`` when the request was sent.
    /// - Returns: Whether they plainly follow those of the replica.
    func isFollowed(by result: EtcdRangeResult, since start: Start) -> Bool {
        guard clusterID == nil || clusterID == result.header.clusterID, result.header.revision >= start.revision
        else { return false }
        let head = result.keyValues.first { $0.key == layout.head }
        let hasValues = result.keyValues.contains { layout.key(named: $0.key) != nil }
        return CommitLog(head?.value ?? []).continues(log) && (hasValues || stored.isEmpty)
    }

    /// Requires that the contents are compared with those of a server before a commit is based on them.
    mutating func markUnverified() { isVerified = false }

    /// Requires that the whole contents are read, because events are lost.
    mutating func forgetHistory() { (isVerified, isHistoryLost) = (false, true) }

    /// Ignores everything that was requested before, because a backup was restored although the head may be the same.
    mutating func beginHistory() { (restorations, isVerified, isHistoryLost) = (restorations + 1, false, true) }

    // MARK: - Events

    /// What a message of the watch has shown.
    enum Progress: Hashable {
        case applied
        /// The next commit is one of this process, which its sender applies.
        case own(CommitLog.ID)
        /// A commit is missing, or events have arrived in another order than that of their revisions.
        case gap
    }

    /// Applies the events of a message, all those of a revision at once.
    mutating func apply(_ events: [EtcdEvent]) -> Progress {
        var start = events.startIndex
        while start < events.endIndex {
            let revision = events[start].keyValue.modRevision
            var end = start
            while end < events.endIndex, events[end].keyValue.modRevision == revision { end += 1 }
            let progress = apply(events[start..<end], at: revision)
            guard progress == .applied else { return progress }
            start = end
        }
        return .applied
    }

    private mutating func apply(_ events: ArraySlice<EtcdEvent>, at revision: Int64) -> Progress {
        // etcd 3.4 can repeat events.
        guard revision > floor else { return .applied }
        let new = events.filter { $0.keyValue.modRevision > contents.revision(ofName: $0.keyValue.key) }
        guard !new.isEmpty else { return .applied }
        // A fence may be older than a commit that was acknowledged before its events have arrived, and changes nothing.
        guard revision > self.revision else {
            return new.allSatisfy { $0.keyValue.key == layout.fence } ? .applied : .gap
        }
        guard !contents.isIncomplete(after: new) else { return .gap }
        var origin = SettingChangeOrigin.external
        if let head = new.last(where: { $0.keyValue.key == layout.head }) {
            let log = CommitLog(head.keyValue.value)
            // A log that no commit has written says nothing about those that are missing.
            guard log.last == nil || log.isNext(after: self.log) else { return .gap }
            if let id = log.last, sent.contains(id) {
                // The sender notifies the subscribers before it returns to its caller.
                guard sent.isAbandoned(id) else {
                    sent.noteEvent(of: id, at: revision)
                    return .own(id)
                }
                origin = .local
            }
            headBytes = head.isDeletion ? nil : head.keyValue.value
            headRevision = head.isDeletion ? 0 : revision
            self.log = log
        }
        let changes = contents.apply(new, at: revision)
        (self.revision, lastChange) = (revision, revision)
        publish(changes, origin)
        return .applied
    }

    // MARK: - Own commits

    /// Applies a commit that a server has acknowledged, unless its events have arrived already.
    ///
    /// The condition of the commit guarantees that no change lies between the base and the commit, except for a removal by
    /// another program. The event of such a removal is a gap when it arrives later.
    ///
    /// - Parameters:
    ///   - id: The identifier of the commit.
    ///   - edits: Its changes.
    ///   - revision: Its revision; `nil` if its events have arrived already.
    ///   - base: The contents on which it is based. A commit to a cluster whose data were replaced by a backup is lost with them.
    ///   - isAssignment: Whether it has stored assignments. Otherwise, those that were made meanwhile follow it.
    mutating func confirm(
        _ id: CommitLog.ID,
        _ edits: [StoreChange],
        at revision: Int64?,
        since base: Start,
        isAssignment: Bool = false
    ) {
        guard let revision else { return recordCommitWithoutChanges() }
        sent.forget(id)
        guard base.restorations == restorations, revision > self.revision, self.revision >= base.revision else {
            return recordCommitWithoutChanges()
        }
        log = log.adding(id)
        (headBytes, headRevision) = (log.bytes, revision)
        (self.revision, lastChange) = (revision, revision)
        let isPending = !isAssignment && !pending.isEmpty
        let earlier = isPending ? edits.map { contents.revision(ofKey: $0.key) } : []
        let changes = contents.apply(edits, at: revision)
        if isPending {
            for (edit, earlier) in zip(edits, earlier) {
                pending.rebase(edit.key, from: earlier, to: contents.revision(ofKey: edit.key))
            }
        }
        publish(changes, .local)
    }

    // MARK: - Assignments

    /// Bases assignments on the first contents from a server that were made before: those from the disk may be outdated.
    private mutating func fillBases() {
        guard isFromServer else { return }
        let keys = pending.keysWithoutBase
        guard !keys.isEmpty else { return }
        let known = Dictionary(uniqueKeysWithValues: keys.map { ($0, contents.revision(ofKey: $0)) })
        pending.fillBases(of: clusterID) { known[$0] ?? 0 }
    }

    /// Returns the error of ``firstDropped``, once.
    mutating func takeDropped() -> SettingsError? { firstDropped.take() }

    /// Makes assignments visible that no server has acknowledged.
    ///
    /// - Returns: The batch that contains them.
    mutating func assign(_ edits: [String: StoredValue?]) -> PendingAssignments.Batch {
        let bases = edits.keys.map { ($0, isFromServer ? contents.revision(ofKey: $0) : nil) }
        let cluster = isFromServer ? clusterID : nil
        let batch = pending.add(edits, Dictionary(uniqueKeysWithValues: bases), of: cluster)
        record(edits.map { StoreChange(key: $0.key, old: visible[$0.key], new: $0.value) }, .local)
        return batch
    }

    /// Makes the assignments of an ended process visible.
    mutating func takeOver(_ batch: PendingAssignments.Batch) {
        pending.append(batch)
        fillBases()
        record(batch.edits.map { StoreChange(key: $0.key, old: visible[$0.key], new: $0.value) }, .local)
    }

    /// Whether another write of a key of a batch has come first, or the batch was made for another cluster.
    func isOvertaken(_ batch: PendingAssignments.Batch) -> Bool {
        let isOtherCluster = batch.clusterID != nil && batch.clusterID != clusterID
        return batch.edits.contains { key, value in
            guard stored[key] != value else { return false }
            guard !isOtherCluster, let base = batch.bases[key] ?? nil else { return isOtherCluster }
            return contents.revision(ofKey: key) != base
        }
    }

    /// Ends a batch.
    ///
    /// - Parameters:
    ///   - batch: The batch.
    ///   - isStored: Whether its values are stored. Otherwise another process has stored other values, which is reported.
    ///   - revision: The revision at which the values were stored; `nil` if they were stored before.
    mutating func end(_ batch: PendingAssignments.Batch, isStored: Bool, at revision: Int64? = nil) {
        let current = Dictionary(uniqueKeysWithValues: batch.edits.keys.map { ($0, contents.revision(ofKey: $0)) })
        pending.end(batch) { key, value in
            guard isStored else { return nil }
            return value == nil ? 0 : revision ?? current[key]
        }
        sendingProblem = nil
        if !isStored {
            let dropped = batch.edits.filter { stored[$0.key] != $0.value }
            let errors = dropped.keys.sorted().map { SettingsError.pendingWriteDropped($0) }
            effects.errors += errors
            noteDropped(batch, errors.first)
        }
        let keys = batch.edits.keys.filter { !pending.contains($0) }
        record(keys.map { StoreChange(key: $0, old: visible[$0], new: stored[$0]) }, .external)
    }

    /// Records that an assignment of this process was dropped, which ``EtcdStore/synchronize()`` throws.
    mutating func noteDropped(_ batch: PendingAssignments.Batch, _ error: SettingsError?) {
        if batch.origin == pending.id { firstDropped = firstDropped ?? error }
    }

    /// Reports once that assignments cannot be sent, unless there is no connection, which is reported elsewhere.
    mutating func sendingFailed(_ error: SettingsError) {
        guard ![.serverUnavailable, .outcomeUnknown].contains(error.code), sendingProblem != error.code else { return }
        sendingProblem = error.code
        var error = error
        error.consequence = SettingsError.EtcdConsequence.assignmentsWait.rawValue
        effects.errors.append(error)
    }

    // MARK: - Publishing

    /// Makes changes visible to readers, and records them with the observer.
    private mutating func publish(_ changes: [StoreChange], _ origin: SettingChangeOrigin) {
        record(
            changes.compactMap { change in
                guard !pending.contains(change.key) else { return nil }
                return StoreChange(key: change.key, old: visible[change.key], new: change.new)
            },
            origin
        )
    }

    /// Records a commit of this process that leaves all values as they are.
    mutating func recordCommitWithoutChanges() { record([], .local) }

    private mutating func record(_ changes: [StoreChange], _ origin: SettingChangeOrigin) {
        let changes = changes.filter { $0.old != $0.new }.sorted { $0.key < $1.key }
        guard !changes.isEmpty || origin == .local else { return }
        for change in changes { visible[change.key] = change.new }
        if !changes.isEmpty {
            version &+= 1
            storeVersion.invalidate()
        }
        guard let observer else { return }
        effects.observers.append(observer)
        effects.deliveries.append(observer.record(StoreCommit(changes: changes, origin: origin)))
    }
}
