// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Synchronization

/// What callbacks have received, in order.
final class CallLog<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    var all: [Element] { elements.withLock { $0 } }

    func add(_ element: Element) { elements.withLock { $0.append(element) } }
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
