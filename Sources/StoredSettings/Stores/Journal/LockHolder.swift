// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Journal-and-locks.md, "A checkpoint needs no new read of the file".
// See Documentation/Decisions/Journal-and-locks.md, "Writers take turns with a word of shared memory".

/// The process that holds a lock while it waits for the disk.
///
/// It is recorded in the journal's header for processes that wait for the lock.
///
/// A process that waits for a slow disk makes no visible progress, and neither does a stopped one. The system can
/// distinguish them, but not across PID namespaces. A holder in another namespace is therefore treated as slow.
package struct LockHolder: Equatable {
    /// The process ID.
    package var process: UInt64
    /// The start time of the process, which distinguishes it from a later process with the same ID.
    var start: UInt64
    /// The PID namespace of the process ID.
    var namespace: UInt64

    /// This process; `nil` when the system does not provide all its properties.
    static var current: LockHolder? { LockHolder(visible: UInt64(SystemCalls.currentProcess())) }

    /// Whether the process may be running: it exists and is not stopped, or cannot be examined from this namespace.
    package var mayBeRunning: Bool {
        guard isVisible else { return true }
        guard let status = SystemCalls.statusOfProcess(process) else { return SystemCalls.isRunning(process) }
        return status.start == start && !status.isStopped
    }

    /// Whether the process is known to have ended.
    ///
    /// Another start time does not prove that: it depends on the time namespace of the process that asks.
    package var hasEnded: Bool {
        isVisible && SystemCalls.statusOfProcess(process) == nil && !SystemCalls.isRunning(process)
    }

    /// The process ID, if the process is in the PID namespace of this process.
    package var visibleProcess: UInt64? { isVisible ? process : nil }

    private var isVisible: Bool { SystemCalls.processNamespace() == namespace }
}

extension LockHolder {
    /// A process of the PID namespace of this process.
    private init?(visible process: UInt64) {
        guard let namespace = SystemCalls.processNamespace(), let status = SystemCalls.statusOfProcess(process)
        else {
            return nil
        }
        self.init(process: process, start: status.start, namespace: namespace)
    }

    /// The process that holds the `flock` of a file, as the system shows it; `nil` if it does not.
    ///
    /// The header shows no holder just after the lock is acquired and just before it is released. A busy machine may interrupt
    /// the holder there for a long time. This reads a table of the system, so it is only for a process that has waited long.
    init?(ofLockOn file: FileHandle, _ system: SystemCalls) {
        do {
            guard let process = SystemCalls.holder(ofLockOn: try system.status(of: file)), process != 0 else {
                return nil
            }
            self.init(visible: process)
        } catch {
            return nil
        }
    }
}

// MARK: - The journal's header

extension LockHolder {
    /// The locks of a suite.
    package enum Lock: Int {
        case checkpoint
        case journal
        /// The lock of the journal, acquired by ``JournalLock``, which also records its token.
        case writer

        fileprivate var firstWord: JournalHeader.Word {
            switch self {
            case .checkpoint: .checkpointHolder
            case .journal: .journalHolder
            case .writer: .writer
            }
        }
    }

    /// The process that a header records as the holder of a lock; `nil` when there is none.
    package init?(of lock: Lock, in page: SharedPage) {
        let word = lock.firstWord
        self.init(process: page[word], start: page[word, 1], namespace: page[word, 2])
        guard process != 0 else { return nil }
    }

    /// Records this process as the holder of a lock in a header.
    func store(as lock: Lock, in page: SharedPage) {
        page[lock.firstWord, 1] = start
        page[lock.firstWord, 2] = namespace
        page[lock.firstWord] = process
    }

    static func remove(as lock: Lock, from page: SharedPage) {
        page[lock.firstWord] = 0
    }

    /// Shows waiting processes that there is progress.
    static func noteProgress(in page: SharedPage) {
        page[.checkpointHolder, 3] &+= 1
    }

    static func progress(in page: SharedPage) -> UInt64 { page[.checkpointHolder, 3] }
}
