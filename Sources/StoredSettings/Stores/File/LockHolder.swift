// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Journal-and-locks.md, "A checkpoint needs no new read of the file".

/// The process that holds a lock while it waits for the disk, as the journal's header names it for processes that wait.
///
/// Neither a process that waits for a slow disk nor a stopped one makes visible progress. The system tells them apart. In
/// another PID namespace it cannot, so a holder there gets the time that a slow one gets.
struct LockHolder: Equatable {
    /// The process's number.
    var process: UInt64
    /// When the process began, which tells it from a later one with its number.
    var start: UInt64
    /// The PID namespace that the number belongs to.
    var namespace: UInt64

    /// This process; `nil` where the system does not say enough about it.
    static var current: LockHolder? {
        let process = UInt64(SystemCalls.currentProcess())
        guard let namespace = SystemCalls.processNamespace(), let status = SystemCalls.statusOfProcess(process) else {
            return nil
        }
        return LockHolder(process: process, start: status.start, namespace: namespace)
    }

    /// Whether the process may be at work: it is there and was not stopped, or cannot be looked at from here.
    var mayBeRunning: Bool {
        guard isVisible else { return true }
        guard let status = SystemCalls.statusOfProcess(process) else { return SystemCalls.isRunning(process) }
        return status.start == start && !status.isStopped
    }

    /// The process's number, if this process sees it in the same PID namespace.
    var visibleProcess: UInt64? { isVisible ? process : nil }

    private var isVisible: Bool { SystemCalls.processNamespace() == namespace }
}

// MARK: - The journal's header

extension LockHolder {
    /// The locks of a suite, by their words in the header.
    enum Lock: Int {
        case checkpoint
        case journal

        fileprivate var firstWord: Int {
            switch self {
            case .checkpoint: JournalHeader.checkpointHolderWord
            case .journal: JournalHeader.journalHolderWord
            }
        }
    }

    private static let progressWord = JournalHeader.checkpointHolderWord + 3

    /// The process that a header names as the holder of a lock; `nil` when it names none.
    init?(of lock: Lock, in page: SharedPage) {
        let word = lock.firstWord
        self.init(process: page[word], start: page[word + 1], namespace: page[word + 2])
        guard process != 0 else { return nil }
    }

    /// Names the process, which holds the lock, in a header.
    func store(as lock: Lock, in page: SharedPage) {
        page[lock.firstWord + 1] = start
        page[lock.firstWord + 2] = namespace
        page[lock.firstWord] = process
    }

    static func remove(as lock: Lock, from page: SharedPage) {
        page[lock.firstWord] = 0
    }

    /// Shows waiting processes that there is progress.
    static func notePace(in page: SharedPage) {
        page[progressWord] &+= 1
    }

    static func progress(in page: SharedPage) -> UInt64 { page[progressWord] }
}
