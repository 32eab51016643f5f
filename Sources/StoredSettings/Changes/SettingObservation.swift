// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

extension Setting {
    /// Calls a closure for every change from now on, by whomever.
    ///
    /// ```swift
    /// let observation = settings.$logLevel.observe { change in
    ///     logger.logLevel = change.new
    /// }
    /// ```
    ///
    /// A change made in this process is told on the thread that made it, before the assignment returns; one made outside
    /// is told on a thread of the library's. Calls come one at a time, in the order of the changes. While one is running,
    /// further changes are kept for the next call, as one, which the same thread makes. The closure may use settings, and
    /// may change this one.
    ///
    /// - Parameters:
    ///   - initial: Whether to call the closure at once with the current value as both old and new.
    ///   - onChange: What to call.
    /// - Returns: The observation, which ends with the last reference to it.
    public func observe(
        initial: Bool = false,
        _ onChange: @escaping @Sendable (SettingChange<Value>) -> Void
    ) -> SettingObservation {
        let sink = ObservationSink(isTelling: initial) { change in
            if let change = self.change(change) { onChange(change) }
        }
        let (id, value) = engine.addSink(sink, forKey: key)
        let observation = SettingObservation(sink, id: id, engine: engine)
        if initial {
            let value = box.reading(of: value).value
            onChange(SettingChange(old: value, new: value, origin: .local))
            sink.endTelling()
        }
        return observation
    }
}

/// A closure that is called for changes, for as long as this is kept.
public final class SettingObservation: Sendable {
    private let sink: ObservationSink
    private let id: SettingsEngine.SinkID
    private let engine: SettingsEngine

    init(_ sink: ObservationSink, id: SettingsEngine.SinkID, engine: SettingsEngine) {
        self.sink = sink
        self.id = id
        self.engine = engine
    }

    deinit {
        invalidate()
    }

    /// Ends the observation.
    ///
    /// A call that is running on another thread runs to its end; no other follows.
    public func invalidate() {
        sink.invalidate()
        engine.removeSink(id)
    }
}

/// Keeps what an observer has not been told, and sees to it that it is told in order and by one thread at a time.
final class ObservationSink: ChangeSink {
    private struct State {
        var pending: KeyChange?
        var isTelling: Bool
        var isFinished = false
    }

    private let state: Locked<State>
    private let tell: @Sendable (KeyChange) -> Void

    /// - Parameters:
    ///   - isTelling: Whether somebody is telling something already, and will call ``endTelling()``.
    ///   - tell: Told of each change.
    init(isTelling: Bool, _ tell: @escaping @Sendable (KeyChange) -> Void) {
        state = Locked(State(isTelling: isTelling))
        self.tell = tell
    }

    func offer(_ commit: StoreCommit) -> Bool {
        guard let first = commit.changes.first else { return false }
        let change = KeyChange(old: first.old, new: first.new, origin: commit.origin)
        return state.withLock { state in
            guard !state.isFinished else { return false }
            var merged = state.pending ?? change
            if state.pending != nil { merged.absorb(change) }
            state.pending = merged.isNothing ? nil : merged
            return true
        }
    }

    func wake(_ origin: SettingChangeOrigin) {
        switch origin {
        case .local:
            tellAll()
        case .external:
            // It was met by a thread that only wanted to read, or that serves all suites.
            DispatchQueue.global(qos: .utility).async { self.tellAll() }
        }
    }

    /// Takes no more changes; what was offered is still told, as streams do.
    func finish() {
        state.withLock { $0.isFinished = true }
    }

    /// Takes no more changes, and forgets what was offered.
    func invalidate() {
        state.withLock { state in
            state.isFinished = true
            state.pending = nil
        }
    }

    /// Tells what has come up meanwhile.
    func endTelling() {
        state.withLock { $0.isTelling = false }
        tellAll()
    }

    private func tellAll() {
        while let change = nextToTell() {
            tell(change)
            state.withLock { $0.isTelling = false }
        }
    }

    private func nextToTell() -> KeyChange? {
        state.withLock { state in
            guard !state.isTelling, let change = state.pending else { return nil }
            state.isTelling = true
            state.pending = nil
            return change
        }
    }
}
