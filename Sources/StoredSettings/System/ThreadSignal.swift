// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A lock with a condition variable, whose timeouts use a monotonic clock.
///
/// Unchecked: the mutex and the condition are safe to use from several threads, and have a stable address while this
/// object exists.
package final class ThreadSignal: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    package init() {
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        #if canImport(Darwin)
        pthread_cond_init(condition, nil)
        #else
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
        #endif
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    package func withLock<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// Wakes one waiting thread.
    package func signal() {
        pthread_cond_signal(condition)
    }

    /// Releases the caller's lock until a signal arrives, the time is reached or the thread wakes spuriously.
    package func wait(until time: SuspendingClock.Instant) {
        // A longer wait ends early.
        let (seconds, attoseconds) = min(max(.zero, time - .now), .seconds(3_600)).components
        let duration = UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
        #if canImport(Darwin)
        withTimespec(duration) { _ = pthread_cond_timedwait_relative_np(condition, mutex, $0) }
        #else
        withTimespec(nanoseconds(of: CLOCK_MONOTONIC) + duration) { _ = pthread_cond_timedwait(condition, mutex, $0) }
        #endif
    }
}
