// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Notifies handlers when something happens to certain names in a directory, or to a file.
///
/// There is one for the process, since a user may have no more than 128 of the system's queues of such events. A thread of
/// its own waits for them.
final class DirectoryWatcher: Sendable {
    /// Called with whether something else has happened than that a journal was written to.
    ///
    /// It is called on the thread that serves all suites, so it schedules work and does none.
    typealias Handler = @Sendable (_ isChanged: Bool) -> Void

    /// What concerns a handler.
    ///
    /// Everything that happens to the watched object itself does, too.
    struct Names: Sendable {
        /// The names of files, links and directories whose changes matter, as bytes.
        var files: Set<[UInt8]> = []
        /// The name of a journal, which is written to all the time.
        var journal: [UInt8]?
    }

    /// How long to wait after events before reading more, in seconds, so that a process that sets all the time does not
    /// keep those that watch busy.
    private static let pause = 0.001

    /// A watch of one directory, which ends with the last reference to it.
    final class Watch: Sendable {
        fileprivate let number: CInt
        private let id: UInt64
        private let watcher: DirectoryWatcher

        fileprivate init(number: CInt, id: UInt64, watcher: DirectoryWatcher) {
            self.number = number
            self.id = id
            self.watcher = watcher
        }

        deinit {
            watcher.remove(id, from: number)
        }
    }

    private struct Subscription {
        var names: Names
        var handler: Handler

        /// Whether an event matters, and then whether it is more than a write to the journal.
        func isChanged(by event: SystemCalls.WatchEvent) -> Bool? {
            if event.name.isEmpty { return true }
            if let journal = names.journal, event.name.elementsEqual(journal) { return !event.isWrite }
            return names.files.contains { event.name.elementsEqual($0) } ? true : nil
        }
    }

    private struct State {
        var lastID: UInt64 = 0
        var subscriptions: [CInt: [UInt64: Subscription]] = [:]
        var queue: FileHandle?
    }

    private static let watchers = PerProcess { DirectoryWatcher() }

    /// The watcher of this process.
    static var shared: DirectoryWatcher { watchers.current }

    private let forks = Forks.count
    private let state = Locked(State())

    /// Watches a directory or a file.
    ///
    /// - Parameters:
    ///   - path: Where it is.
    ///   - names: The names in the directory that matter.
    ///   - system: Makes the calls.
    ///   - handler: Called after one or more things have happened.
    /// - Returns: The watch.
    /// - Throws: ``SystemError`` where the system has no such events, or has no room for another watch.
    func watch(_ path: FilePath, for names: Names, _ system: SystemCalls, handler: @escaping Handler) throws -> Watch {
        try state.withLock { state in
            let queue = try state.queue ?? openQueue(system)
            state.queue = queue
            let number = try system.addWatch(path, to: queue)
            state.lastID += 1
            state.subscriptions[number, default: [:]][state.lastID] = Subscription(names: names, handler: handler)
            return Watch(number: number, id: state.lastID, watcher: self)
        }
    }

    private func openQueue(_ system: SystemCalls) throws(SystemError) -> FileHandle {
        let queue = try system.makeWatchQueue()
        try BackgroundThread.start(system) { [self] in
            while true {
                SystemCalls().waitForEvents(queue)
                handleEvents(queue)
                SystemCalls.sleep(seconds: Self.pause)
            }
        }
        return queue
    }

    private func remove(_ id: UInt64, from number: CInt) {
        // A forked child shares the queue with its parent, whose watch this is.
        guard forks == Forks.count else { return }
        let ended = state.withLock { state in
            let ended = state.subscriptions[number]?.removeValue(forKey: id)
            if state.subscriptions[number]?.isEmpty == true, let queue = state.queue {
                state.subscriptions[number] = nil
                SystemCalls().removeWatch(number, from: queue)
            }
            return ended
        }
        _ = consume ended
    }

    private func handleEvents(_ queue: FileHandle) {
        let calls = state.withLock { state in
            var changes: [UInt64: (handler: Handler, isChanged: Bool)] = [:]
            SystemCalls()
                .readWatchEvents(from: queue) { event in
                    // The number of no directory says that events were lost: then anything may have happened anywhere.
                    for number in event.number == -1 ? Array(state.subscriptions.keys) : [event.number] {
                        for (id, subscription) in state.subscriptions[number] ?? [:] {
                            guard let isChanged = subscription.isChanged(by: event) else { continue }
                            changes[id] = (subscription.handler, isChanged || changes[id]?.isChanged == true)
                        }
                    }
                }
            return Array(changes.values)
        }
        for (handler, isChanged) in calls { handler(isChanged) }
    }
}
