// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Streams.md, "Observation is a property of the suite".

import Observation
import Synchronization

/// The object by which Observation tracks the settings of a store, with a part for each key.
///
/// A read of a setting accesses its part. A tracking that has accessed a part is notified of the next change of that key, and
/// of no other key. In a suite whose layers do not change, nothing is stored for a key, so any number of keys may be read.
final class ObservedSettings: Observable, Sendable {
    typealias Part = any KeyPath<ObservedSettings, Void> & Sendable

    private let registrar = ObservationRegistrar()
    /// The keys whose changes are not delivered yet.
    private let pending = Locked(Pending())
    /// The settings that were read in suites whose layers change, by key.
    private let layered = Locked<[String: WeakTable<ObjectIdentifier, AnySettingBox>]>([:])
    /// The engine of the settings, which they do not own.
    private let engine = Locked(WeakEngine())

    private struct WeakEngine {
        weak var engine: SettingsEngine?
    }

    private struct Pending {
        var stored: Set<String> = []
        /// The keys whose values in a layer have changed, which a stored value or another layer may hide.
        var layered: Set<String> = []
    }

    /// The part of a key, which stores nothing.
    private subscript(key: String) -> Void { () }

    static func part(_ key: String) -> Part { \ObservedSettings[key] }

    func access(_ part: Part) {
        registrar.access(self, keyPath: part)
    }

    /// Notes a setting whose value was read, in a suite whose layers change.
    func note(_ box: AnySettingBox, forKeys keys: [String]) {
        let others = layered.withLock { layered in
            keys.map { layered[$0, default: WeakTable()].insert(box, forKey: ObjectIdentifier(box)) }
        }
        _ = consume others
    }

    fileprivate func begin(with engine: SettingsEngine) {
        self.engine.withLock { $0.engine = engine }
    }

    func deliverAll() {
        // The settings are used below, so their engine must not end meanwhile.
        guard let engine = engine.withLock({ $0.engine }) else { return }
        withExtendedLifetime(engine) { deliverPending() }
    }

    private func deliverPending() {
        let pending = pending.withLock { pending in
            defer { pending = Pending() }
            return pending
        }
        let visible = pending.layered.subtracting(pending.stored)
            .filter { key in
                let boxes = layered.withLock { $0[key]?.objects } ?? []
                return boxes.contains { $0.hasOtherValueThanObserved() }
            }
        for key in pending.stored.union(visible) {
            registrar.withMutation(of: self, keyPath: Self.part(key)) {}
        }
    }
}

extension ObservedSettings: CallbackReceiver {
    func offer(_ commit: StoreCommit) -> Bool {
        let keys = commit.changes.map(\.key)
        pending.withLock { pending in
            if commit.isLayered { pending.layered.formUnion(keys) } else { pending.stored.formUnion(keys) }
        }
        return true
    }

    func finish() {}
}

extension SettingsEngine {
    /// Records a read of a setting.
    func access(_ part: ObservedSettings.Part) {
        if !isObserved.load(ordering: .acquiring) { beginDelivery() }
        observed.access(part)
    }

    /// Adds the subscriber, so that every change after the next read is delivered.
    private func beginDelivery() {
        // Only for stores without a version. The library's own stores start to watch soon after the first read, so
        // that a read creates no directory.
        if storeVersion == nil { store.watch() }
        observed.begin(with: self)
        withValue(forKey: "") { _, state in
            guard !self.isObserved.load(ordering: .relaxed) else { return }
            _ = state.subscribers.insert(self.observed)
            self.isObserved.store(true, ordering: .releasing)
        }
    }
}

// MARK: - Observable suites

extension SettingsSuite {
    /// Whether a new suite is observable.
    static var isObservableByDefault: Bool {
        #if canImport(Darwin)
        true
        #else
        false
        #endif
    }

    /// Returns this suite with or without support for Observation.
    ///
    /// `withObservationTracking`, `@Observable` models and SwiftUI views track the settings that they read from an observable
    /// suite.
    ///
    /// ```swift
    /// let suite = SettingsSuite("com.acme.server").observable()
    /// let port = Setting("port", default: 8080, suite: suite)
    ///
    /// withObservationTracking {
    ///     print(port.value)
    /// } onChange: {
    ///     print("the port has changed")
    /// }
    /// ```
    ///
    /// Reads of the wrapped property, of ``Setting/value`` and ``Setting/isSet``, and calls of ``Setting/load()`` are tracked.
    /// Changes by other processes and editors are delivered from about a second after the first read, or at once while a
    /// stream or an observation of the suite exists. `onChange` is called after the change, under no lock: on the thread that
    /// made the change, or on a thread of the library for a change from outside. The new value can be read there.
    ///
    /// Each read takes about 100 ns, whether it is tracked or not, and each change takes 1 to 2 µs more. For this reason suites
    /// are observable by default only on Apple platforms. Observability is a property of this value and of the settings that
    /// are created with it; other suites with the same store are not affected.
    ///
    /// - Parameter isObservable: Whether Observation tracks the suite.
    /// - Returns: The suite.
    public func observable(_ isObservable: Bool = true) -> SettingsSuite {
        guard isObservable != self.isObservable else { return self }
        return SettingsSuite(
            name: name,
            engine: engine,
            layers: layers,
            reporter: reporter,
            isObservable: isObservable,
            prefix: group?.prefix
        )
    }
}
