// SPDX-License-Identifier: Apache-2.0

/// Notifies handlers of events on certain names in a directory, or on a file.
///
/// There is one watcher per process, because the system limits a user to 128 event queues. The watcher has its own
/// thread, which waits for events.
final class DirectoryWatcher: Sendable {
    /// Called with whether anything happened other than a write to a journal.
    ///
    /// It runs on the thread that all suites share, so it schedules all work that may take long.
    typealias Handler = @Sendable (_ isChanged: Bool) -> Void

    /// The names whose events a handler receives.
    ///
    /// A handler also receives all events of the watched object itself.
    struct Names: Hashable, Sendable {
        /// The names of relevant files, links and directories, as bytes.
        var files: Set<[UInt8]> = []
        /// The name of a journal, which is written to frequently.
        var journal: [UInt8]?
        /// Whether all names are relevant.
        var isEveryName = false
    }

    /// The pause after a batch of events, in seconds.
    ///
    /// With it, a process that sets values continuously does not keep its watchers busy.
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
            #if os(Linux)
            watcher.remove(id, from: number)
            #endif
        }
    }

    private struct Subscription {
        var names: Names
        var handler: Handler

        /// Returns `nil` for an irrelevant event; otherwise, whether it is more than a write to the journal.
        func isChanged(by event: Event) -> Bool? {
            if event.name.isEmpty { return true }
            if event.name == names.journal { return !event.isWrite }
            return names.isEveryName || names.files.contains(event.name) ? true : nil
        }
    }

    /// An event, once for all equal ones of a batch.
    private struct Event: Hashable {
        var number: CInt
        var name: [UInt8]
        var isWrite: Bool
    }

    /// The subscriptions of each watch.
    private typealias Subscriptions = [CInt: [UInt64: Subscription]]

    private struct State {
        var lastID: UInt64 = 0
        var subscriptions: Subscriptions = [:]
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
    ///   - path: The path of the directory or file.
    ///   - names: The relevant names in the directory.
    ///   - withoutWrites: Whether writes to files are irrelevant.
    ///   - system: The system calls to use.
    ///   - handler: Called after one or more events.
    /// - Returns: The watch.
    /// - Throws: ``SystemError`` if the system has no such events, or its limit of watches is reached.
    func watch(
        _ path: FilePath,
        for names: Names,
        withoutWrites: Bool = false,
        _ system: SystemCalls,
        handler: @escaping Handler
    ) throws(SystemError) -> Watch {
        #if os(Linux)
        return try state.withLock { state throws(SystemError) in
            let queue: FileHandle
            if let open = state.queue, open.isOpen {
                queue = open
            } else {
                queue = try openQueue(system, insteadOf: state.subscriptions)
                (state.queue, state.subscriptions) = (queue, [:])
            }
            let number = try system.addWatch(path, withoutWrites: withoutWrites, to: queue)
            state.lastID += 1
            state.subscriptions[number, default: [:]][state.lastID] = Subscription(names: names, handler: handler)
            return Watch(number: number, id: state.lastID, watcher: self)
        }
        #else
        // Then the file is polled.
        throw SystemError(call: .watch, path: path, number: Errno.noFunction)
        #endif
    }

    #if os(Linux)
    /// Opens a queue, and starts the thread that waits for its events.
    ///
    /// - Parameters:
    ///   - system: The system calls to use.
    ///   - ended: The subscriptions of a queue that the program has closed. Their handlers watch again.
    /// - Returns: The queue.
    /// - Throws: ``SystemError``.
    private func openQueue(_ system: SystemCalls, insteadOf ended: Subscriptions) throws(SystemError) -> FileHandle {
        let queue = try system.makeWatchQueue()
        let mounts = system.openMounts()
        try BackgroundThread.start(system) { [self] in
            Self.notify(ended)
            while let hasMounted = SystemCalls().waitForEvents(queue, mounts) {
                // No event of a directory reports that another one is mounted over it.
                if hasMounted { Self.notify(state.withLock(\.subscriptions)) }
                handleEvents(queue)
                SystemCalls.sleep(seconds: Self.pause)
            }
            let ended = state.withLock { state in
                guard state.queue === queue else { return [:] as Subscriptions }
                defer { (state.queue, state.subscriptions) = (nil, [:]) }
                return state.subscriptions
            }
            Self.notify(ended)
        }
        return queue
    }

    /// Notifies subscriptions that anything may have changed.
    private static func notify(_ subscriptions: Subscriptions) {
        for subscription in subscriptions.values.joined() { subscription.value.handler(true) }
    }

    private func remove(_ id: UInt64, from number: CInt) {
        // A forked child shares the queue with its parent, which owns this watch.
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
        // The lock is not held while events are read: a new watch must not wait for those of other directories.
        var events: Set<Event> = []
        SystemCalls()
            .readWatchEvents(from: queue) { event in
                events.insert(Event(number: event.number, name: Array(event.name), isWrite: event.isWrite))
            }
        let calls = state.withLock { state in
            var changes: [UInt64: (handler: Handler, isChanged: Bool)] = [:]
            for event in events {
                // An event without a directory means that events were lost, so that every directory may have changed.
                for number in event.number == -1 ? Array(state.subscriptions.keys) : [event.number] {
                    for (id, subscription) in state.subscriptions[number] ?? [:] {
                        guard let isChanged = subscription.isChanged(by: event) else { continue }
                        changes[id] = (subscription.handler, isChanged || changes[id]?.isChanged == true)
                    }
                }
            }
            return Array(changes.values)
        }
        // Handlers leave their work to the scheduler, and the process may do nothing else that would start its threads.
        WorkScheduler.shared.startThreadIfStarved()
        for (handler, isChanged) in calls { handler(isChanged) }
    }
    #endif
}
