// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Synchronization

/// What callbacks have received, in order.
final class CallLog<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    var all: [Element] { elements.withLock { $0 } }

    func add(_ element: Element) { elements.withLock { $0.append(element) } }
}

/// The changes of a setting that an observer has received, in order, for as long as this object exists.
final class ObservedChanges<Value: Sendable>: Sendable {
    private let log: CallLog<SettingChange<Value>>
    private let observation: SettingObservation

    init(of setting: Setting<Value>) {
        let log = CallLog<SettingChange<Value>>()
        self.log = log
        observation = setting.observe { log.add($0) }
    }

    var new: [Value] { log.all.map(\.new) }

    /// The old and the new values.
    var pairs: [[Value]] { log.all.map { [$0.old, $0.new] } }
}

/// A number of calls.
final class Counter: Sendable {
    private let number = Atomic(0)

    var count: Int { number.load(ordering: .acquiring) }

    func add() { number.add(1, ordering: .acquiringAndReleasing) }
}

/// A flag that several threads share.
final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .sequentiallyConsistent) }

    func set() { value.store(true, ordering: .sequentiallyConsistent) }
}

/// Calls a closure with each report.
final class CallingReporter: SettingsReporter {
    private let body: @Sendable (SettingsError) -> Void

    init(body: @escaping @Sendable (SettingsError) -> Void) { self.body = body }

    func report(_ error: SettingsError) { body(error) }
}
