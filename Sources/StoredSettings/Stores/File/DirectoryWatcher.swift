// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// Tells when something happens in a directory, or to a file.
///
/// There is one for the process, since a user may have no more than 128 of the system's queues of such events.
final class DirectoryWatcher: Sendable {
    /// Told whether something else has happened than that a journal was written to.
    typealias Handler = @Sendable (_ isChanged: Bool) -> Void

    /// How long to wait after events before asking for more, in seconds, so that a process that sets all the time does
    /// not keep those that watch busy.
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

    private struct State {
        var lastID: UInt64 = 0
        var handlers: [CInt: [UInt64: Handler]] = [:]
        var source: (any DispatchSourceRead)?
        var queue: FileHandle?
    }

    static let shared = DirectoryWatcher()

    private let state = Locked(State())
    private let dispatchQueue = DispatchQueue(label: "StoredSettings.DirectoryWatcher", qos: .utility)

    /// Watches a directory or a file.
    ///
    /// - Parameters:
    ///   - path: Where it is.
    ///   - system: Makes the calls.
    ///   - handler: Called on a queue of the system, after one or more things have happened.
    /// - Returns: The watch.
    /// - Throws: ``SystemError`` where the system has no such events, or has no room for another watch.
    func watch(_ path: FilePath, _ system: SystemCalls, handler: @escaping Handler) throws -> Watch {
        try state.withLock { state in
            let queue = try state.queue ?? openQueue(&state, system)
            let number = try system.addWatch(path, to: queue)
            state.lastID += 1
            state.handlers[number, default: [:]][state.lastID] = handler
            return Watch(number: number, id: state.lastID, watcher: self)
        }
    }

    private func openQueue(_ state: inout State, _ system: SystemCalls) throws(SystemError) -> FileHandle {
        let queue = try system.makeWatchQueue()
        let source = DispatchSource.makeReadSource(fileDescriptor: queue.descriptor, queue: dispatchQueue)
        source.setEventHandler { [unowned self] in handleEvents(queue) }
        source.activate()
        state.source = source
        state.queue = queue
        return queue
    }

    private func remove(_ id: UInt64, from number: CInt) {
        state.withLock { state in
            state.handlers[number]?[id] = nil
            guard state.handlers[number]?.isEmpty == true, let queue = state.queue else { return }
            state.handlers[number] = nil
            SystemCalls().removeWatch(number, from: queue)
        }
    }

    private func handleEvents(_ queue: FileHandle) {
        let events = SystemCalls().readWatchEvents(from: queue, ignoring: SettingsFile.journalSuffix)
        let handlers = state.withLock { state in
            // The number of no directory says that events were lost: then anything may have happened anywhere.
            let isAll = events.directories.contains(-1)
            let directories = isAll ? Set(state.handlers.keys) : events.directories
            return directories.flatMap { number in
                let isChanged = isAll || events.changed.contains(number)
                return state.handlers[number].map { $0.values.map { ($0, isChanged) } } ?? []
            }
        }
        for (handler, isChanged) in handlers {
            // Not on this queue, which serves all suites: a handler reads files, and may call a reporter of the user's.
            DispatchQueue.global(qos: .utility).async { handler(isChanged) }
        }
        SystemCalls.sleep(seconds: Self.pause)
    }
}
