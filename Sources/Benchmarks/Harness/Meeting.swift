// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Two threads that do the same at the same time.
final class Meeting: Sendable {
    private let arrived = Atomic(0)
    private let elapsed = Atomic<UInt64>(0)

    /// The time that one thread takes, on average of the two, in nanoseconds.
    static func time(_ body: @escaping @Sendable (Int) -> Int, count: Int) -> Double {
        let meeting = Meeting()
        let end = DispatchSemaphore(value: 0)
        Thread {
            meeting.attend(body, count)
            end.signal()
        }
        .start()
        meeting.attend(body, count)
        end.wait()
        return Double(meeting.elapsed.load(ordering: .acquiring)) / 2
    }

    private func attend(_ body: (Int) -> Int, _ count: Int) {
        arrived.add(1, ordering: .acquiringAndReleasing)
        // Both spin until both are running, so that neither has the machine to itself at first.
        while arrived.load(ordering: .acquiring) < 2 {}
        let start = Clock.now()
        Sink.keep(body(count))
        elapsed.add(Clock.now() - start, ordering: .acquiringAndReleasing)
    }
}
