// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Streams.md, "Observation is a property of the suite".

import Observation
import Synchronization

/// The object by which Observation tracks the settings of a store, with a part for each key.
///
/// A read of a setting accesses its part. A tracking that has accessed a part is notified of the next change of that key, and
/// of no other key. It is also notified of a change of a layer that another layer hides. Nothing is stored for a key, so any
/// number of keys may be read.
final class ObservedSettings: Observable, Sendable {
    typealias Part = any KeyPath<ObservedSettings, Void> & Sendable

    private let registrar = ObservationRegistrar()
    /// The keys whose changes are not delivered yet.
    private let pending = Locked<Set<String>>([])

    /// The part of a key, which stores nothing.
    private subscript(key: String) -> Void { () }

    static func part(_ key: String) -> Part { \ObservedSettings[key] }

    func access(_ part: Part) {
        registrar.access(self, keyPath: part)
    }
}

extension ObservedSettings: CallbackReceiver {
    func offer(_ commit: StoreCommit) -> Bool {
        pending.withLock { $0.formUnion(commit.changes.map(\.key)) }
        return true
    }

    func deliverAll() {
        let keys = pending.withLock { pending in
            defer { pending = [] }
            return pending
        }
        for key in keys { registrar.withMutation(of: self, keyPath: Self.part(key)) {} }
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
        isObservable == self.isObservable ? self : with(isObservable: isObservable)
    }
}
