// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The state of an engine behind a lock, with what a set asks of it readable without the lock.
///
/// The flags are updated under the lock, after every use of the state.
struct EngineState: ~Copyable, Sendable {
    private let state: Locked<SettingsEngine.State>
    private let isPlainFlag: Atomic<Bool>
    private let checkWord = Atomic<UInt64>(0)
    private let versionStamp: VersionStamp?

    init(_ state: consuming sending SettingsEngine.State, _ versionStamp: VersionStamp?) {
        isPlainFlag = Atomic(state.isPlain)
        versionStamp?.needsChanges.store(state.needsChanges, ordering: .relaxed)
        self.versionStamp = versionStamp
        self.state = Locked(state)
    }

    /// Whether a set has nothing to do but to store its value: there is no pending write, and the engine is not finished.
    var isPlain: Bool { isPlainFlag.load(ordering: .acquiring) }

    /// Whether values that were read before are held, or were held and checked since.
    var checkProgress: CheckProgress { CheckProgress(word: checkWord.load(ordering: .acquiring)) }

    func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending SettingsEngine.State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try state.withLock { (state: inout sending SettingsEngine.State) throws(Failure) -> sending Result in
            defer {
                isPlainFlag.store(state.isPlain, ordering: .releasing)
                checkWord.store(state.held.progress.word, ordering: .releasing)
                versionStamp?.needsChanges.store(state.needsChanges, ordering: .releasing)
            }
            return try body(&state)
        }
    }
}

extension SettingsEngine.State {
    fileprivate var isPlain: Bool { !isFinished && !pendingWrites.isFlushNeeded }

    /// Whether a change has to be compared with pending writes, checked, or passed to subscribers.
    fileprivate var needsChanges: Bool { !pendingWrites.isEmpty || !subscribers.isEmpty || held.isRestricting }
}
