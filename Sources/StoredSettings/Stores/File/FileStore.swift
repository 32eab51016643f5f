// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The store that keeps a suite in a JSON file which people can read and edit, shared by any number of processes.
///
/// Every commit takes the file's lock, reads what others have written, writes the new contents beside the file, and puts
/// them in its place. Every read looks whether the file is still the one that was read.
final class FileStore: SettingsStore {
    struct State {
        var contents: [String: StoredValue] = [:]
        var generation: UInt64 = 1
        /// The file that `contents` was read from or written to; `nil` when there was none.
        var reading: SettingsFile.Reading?
        /// The state of the file that could not be read, and why; `contents` are then the last good ones.
        var defect: Defect?
        /// Since when the file that was read is not there; `contents` are still those.
        var missingSince: ContinuousClock.Instant?
        var isOpened = false
        var isClosed = false
        weak var observer: (any StoreObserver)?
        var watch: FileWatch?
    }

    struct Defect {
        var status: FileStatus?
        var error: SettingsError
        /// Whether it may only be that somebody is in the middle of writing the file.
        var isPassing: Bool

        /// Whether the same file may be found good at another look.
        var mayPass: Bool { isPassing || error.code != .malformedFile }

        func isSame(as other: Defect) -> Bool {
            status == other.status && error.code == other.error.code && isPassing == other.isPassing
        }
    }

    let file: SettingsFile
    let state = Locked(State())

    /// When a commit has last waited for the file's lock in vain.
    struct LockFailure {
        var time: ContinuousClock.Instant
        var error: SettingsError
    }

    /// Held for a whole commit, the user's body included; `state` is free meanwhile, so that reads go on.
    let writer = Locked<LockFailure?>(nil)

    init(path: String, system: SystemCalls = SystemCalls()) {
        file = SettingsFile(path: path, system: system)
    }

    func setObserver(_ observer: any StoreObserver) {
        state.withLock { $0.observer = observer }
    }

    // MARK: - Reading

    func generation() -> UInt64 {
        withFreshState { $0.generation }
    }

    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        withFreshState { body($0.contents[key]) }
    }

    func contents() -> [String: StoredValue] {
        withFreshState { $0.contents }
    }

    var problem: SettingsError? {
        withFreshState { $0.defect?.error }
    }

    /// Looks at the file, for those who wait to hear of changes.
    func refresh() {
        withFreshState { _ in }
    }

    /// Runs a body on the newest contents that can be read.
    private func withFreshState<Result>(_ body: (inout State) -> Result) -> Result {
        var news = News()
        let result = state.withLock { state in
            refresh(&state, &news)
            return body(&state)
        }
        deliver(news)
        return result
    }

    /// What is to be told once the locks are free.
    struct News {
        var deliveries: [StoreDelivery] = []
        var errors: [SettingsError] = []
        var isUnsettled = false
    }

    func deliver(_ news: News) {
        for delivery in news.deliveries {
            delivery.perform()
        }
        if !news.errors.isEmpty {
            let observer = state.withLock { $0.observer }
            for error in news.errors {
                observer?.report(error)
            }
        }
        if news.isUnsettled { lookAgain() }
    }

    // MARK: - The rest of the contract

    var persistence: SettingsPersistence {
        do {
            try checkWritable()
            return .durable(path: file.path)
        } catch {
            return .readOnly(path: file.path, reason: error.reason)
        }
    }

    /// Waits for a commit that is under way, and makes sure of what commits have made sure of already, where the file
    /// system gave an error then.
    func synchronize() throws {
        try writer.withLock { _ in
            guard let reading = state.withLock({ $0.reading }) else { return }
            do {
                try file.synchronize(reading)
            } catch {
                throw writeError(error)
            }
        }
    }

    func watch() {
        let isNeeded = state.withLock { !$0.isClosed && $0.watch == nil }
        guard isNeeded else { return }
        let watch = FileWatch(file) { [weak self] in self?.refresh() }
        state.withLock { state in
            if state.watch == nil, !state.isClosed { state.watch = watch }
        }
        watch.start()
    }

    func close() {
        let (watch, reading) = state.withLock { state in
            state.isClosed = true
            defer { (state.watch, state.reading) = (nil, nil) }
            return (state.watch, state.reading)
        }
        // They end outside the lock: a watch waits for nobody, but takes the watcher's lock.
        _ = (consume watch, consume reading)
    }
}
