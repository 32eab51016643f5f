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
        let (seconds, attoseconds) = max(.zero, time - .now).components
        let nanoseconds = Int(attoseconds / 1_000_000_000)
        #if canImport(Darwin)
        var duration = timespec(tv_sec: Int(seconds), tv_nsec: nanoseconds)
        pthread_cond_timedwait_relative_np(condition, mutex, &duration)
        #else
        // A `timespec` consists of two words on every 64-bit system. They are accessed as words, because the module
        // that declares the names of its members differs between builds (see `FileTime`).
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 2) { words in
            words.initialize(repeating: 0)
            guard let start = words.baseAddress else { return }
            start.withMemoryRebound(to: timespec.self, capacity: 1) { end in
                _ = clock_gettime(CLOCK_MONOTONIC, end)
            }
            let sum = words[1] + nanoseconds
            words[0] += Int(seconds) + sum / 1_000_000_000
            words[1] = sum % 1_000_000_000
            start.withMemoryRebound(to: timespec.self, capacity: 1) { end in
                _ = pthread_cond_timedwait(condition, mutex, end)
            }
        }
        #endif
    }
}
