// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The lock that a store holds while the body of a transaction runs.
///
/// That body is the user's, and may fork. The thread that continues in the child process has another thread number than
/// the one that locked, and a `Mutex` on Linux ends the process when a thread unlocks what another number has locked. A
/// POSIX mutex of the default kind does not look at the number.
///
/// Unchecked: `value` is used only while `mutex` is locked, and `mutex` points to memory that this object alone owns.
package final class WriterLock<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    package init(_ value: sending Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Waits for the lock and runs a body under it.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }

    /// Whether a thread holds the lock, the caller's included.
    package var isLocked: Bool {
        guard pthread_mutex_trylock(mutex) == 0 else { return true }
        pthread_mutex_unlock(mutex)
        return false
    }
}
