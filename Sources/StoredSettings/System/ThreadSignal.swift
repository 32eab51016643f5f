// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A lock whose holder can wait for another thread's signal, by a clock that cannot be set.
///
/// Unchecked: both objects are made for use by several threads, and stay at one address until no thread has this one.
final class ThreadSignal: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
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

    func withLock<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// Wakes one thread that waits.
    func signal() {
        pthread_cond_signal(condition)
    }

    /// Releases the lock, which the caller holds, until there may have been a signal or the time has come.
    func wait(until time: SuspendingClock.Instant) {
        let (seconds, attoseconds) = max(.zero, time - .now).components
        let nanoseconds = Int(attoseconds / 1_000_000_000)
        #if canImport(Darwin)
        var duration = timespec(tv_sec: Int(seconds), tv_nsec: nanoseconds)
        pthread_cond_timedwait_relative_np(condition, mutex, &duration)
        #else
        // A `timespec` is two words on every 64-bit system. They are used as such, since it differs from build to build
        // which module the names of its members belong to (see `FileTime`).
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
