// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// Sees to it that somebody looks at a file whenever it may have changed.
///
/// What is watched are directories, that of the path and that of the file it leads to, and the file itself. Where they
/// cannot be watched, or are gone, it has the file looked at every so often.
final class FileWatch: Sendable {
    private struct State {
        var watches: [DirectoryWatcher.Watch] = []
        var timer: (any DispatchSourceTimer)?
    }

    /// How often to look where nothing tells, in seconds.
    private static let interval = 0.25

    /// How long to wait, in seconds, when the journal was written to and had nothing new: a record is written a moment
    /// before it is published.
    private static let moment = 0.002

    private let file: SettingsFile
    private let look: @Sendable (_ isFileChanged: Bool) -> Bool
    private let state = Locked(State())
    private let isLookScheduled = Atomic(false)

    /// - Parameters:
    ///   - file: The file.
    ///   - look: Looks at the journal alone, or at the file too, and tells whether there was anything new.
    init(_ file: SettingsFile, look: @escaping @Sendable (_ isFileChanged: Bool) -> Bool) {
        self.file = file
        self.look = look
    }

    deinit {
        state.withLock { $0.timer?.cancel() }
    }

    /// Begins to watch.
    ///
    /// - Parameter makingDirectories: Whether to make the directory if it is not there, so that it can be watched.
    func start(makingDirectories: Bool) {
        do {
            guard makingDirectories else { return arm() }
            try file.system.makeDirectories(SettingsPath.target(of: file.path, file.system).directory)
        } catch {
            // Then the directory is looked for every so often, as when somebody removes it later.
        }
        arm()
    }

    /// Watches the directories that the path leads through now.
    private func arm() {
        do {
            let target = try SettingsPath.target(of: file.path, file.system)
            var watches = try Set([file.path, target].map(\.directory)).map(watch)
            // One that is mounted alone is changed in another directory, whose events are not those of this one.
            if try file.system.status(at: target)?.isRegular == true { watches.append(try watch(target)) }
            let ended = state.withLock { state in
                state.timer?.cancel()
                state.timer = nil
                defer { state.watches = watches }
                return state.watches
            }
            // Watches end outside the lock, since that takes the watcher's. Those of the same directory go on.
            _ = consume ended
        } catch {
            // Nothing is lost: changes are noticed a little later.
            poll()
        }
    }

    private func watch(_ path: FilePath) throws -> DirectoryWatcher.Watch {
        try DirectoryWatcher.shared.watch(path, file.system) { [weak self] in self?.handleEvent(isChanged: $0) }
    }

    private func handleEvent(isChanged: Bool) {
        if isChanged { arm() }
        guard !look(isChanged), !isChanged, !isLookScheduled.exchange(true, ordering: .relaxed) else { return }
        DispatchQueue.global(qos: .utility)
            .asyncAfter(deadline: .now() + Self.moment) { [weak self] in
                self?.isLookScheduled.store(false, ordering: .relaxed)
                _ = self?.look(false)
            }
    }

    private func poll() {
        let ended = state.withLock { state in
            defer { state.watches = [] }
            if state.timer == nil { state.timer = makeTimer() }
            return state.watches
        }
        _ = consume ended
    }

    private func makeTimer() -> any DispatchSourceTimer {
        let timer = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
        timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval)
        timer.setEventHandler { [weak self] in self?.handleEvent(isChanged: true) }
        timer.activate()
        return timer
    }
}
