// SPDX-License-Identifier: Apache-2.0

/// The process that writes a checkpoint, as the journal's header names it for processes that wait for its lock.
///
/// A process that waits for a slow disk makes no progress that others could see, no more than one that was stopped. They
/// differ in what the system says of them. Where it says nothing, since the processes see different process numbers, a
/// holder is given the time that a slow one gets.
struct CheckpointHolder: Equatable {
    /// The process's number.
    var process: UInt64
    /// When the process began, which tells it from a later one with its number.
    var start: UInt64
    /// Within which processes the number means this one.
    var namespace: UInt64

    /// This process; `nil` where the system does not say enough about it.
    static var current: CheckpointHolder? {
        let process = UInt64(SystemCalls.currentProcess())
        guard let namespace = SystemCalls.processNamespace(), let status = SystemCalls.statusOfProcess(process) else {
            return nil
        }
        return CheckpointHolder(process: process, start: status.start, namespace: namespace)
    }

    /// Whether the process may be at work: it is there and was not stopped, or cannot be looked at from here.
    var mayBeRunning: Bool {
        guard isVisible else { return true }
        guard let status = SystemCalls.statusOfProcess(process), status.start == start else { return false }
        return !status.isStopped
    }

    /// The process's number, where it means that process.
    var visibleProcess: UInt64? { isVisible ? process : nil }

    private var isVisible: Bool { SystemCalls.processNamespace() == namespace }
}

// MARK: - The journal's header

extension CheckpointHolder {
    private static let firstWord = JournalHeader.checkpointHolderWord
    private static let progressWord = firstWord + 3

    /// The process that a header names; `nil` when it names none.
    init?(in page: SharedPage) {
        self.init(process: page[Self.firstWord], start: page[Self.firstWord + 1], namespace: page[Self.firstWord + 2])
        guard process != 0 else { return nil }
    }

    /// Names the process, which holds the lock for checkpoints, in a header.
    func store(in page: SharedPage) {
        page[Self.firstWord + 1] = start
        page[Self.firstWord + 2] = namespace
        page[Self.firstWord] = process
    }

    static func remove(from page: SharedPage) {
        page[firstWord] = 0
    }

    /// Shows waiting processes that there is progress.
    static func notePace(in page: SharedPage) {
        page[progressWord] &+= 1
    }

    static func progress(in page: SharedPage) -> UInt64 { page[progressWord] }
}
