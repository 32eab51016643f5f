// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

#if THREAD_SANITIZER
/// The lock of this library, which tells Thread Sanitizer what it does.
///
/// A thread that has to wait for a `Mutex` waits in the kernel, and gets it there, where the sanitizer does not see it.
/// So it takes the next two holders for threads that know nothing of each other, and calls what they do a race.
package final class Locked<Value: ~Copyable>: Sendable {
    private let mutex: Mutex<Value>

    package init(_ value: consuming sending Value) {
        mutex = Mutex(value)
        createMutex(address, 0)
    }

    deinit {
        destroyMutex(address, 0)
    }

    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        willLockMutex(address, 0)
        defer { didUnlockMutex(address, 0) }
        return try mutex.withLock { (value: inout sending Value) throws(Failure) -> sending Result in
            didLockMutex(address, 0, 0)
            defer { _ = willUnlockMutex(address, 0) }
            return try body(&value)
        }
    }

    package func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        willLockMutex(address, isTry)
        var isLocked = false
        defer { if isLocked { didUnlockMutex(address, 0) } else { didLockMutex(address, isTry | hasFailed, 0) } }
        return try mutex.withLockIfAvailable { (value: inout sending Value) throws(Failure) -> sending Result in
            isLocked = true
            didLockMutex(address, isTry, 0)
            defer { _ = willUnlockMutex(address, 0) }
            return try body(&value)
        }
    }

    /// What the sanitizer knows this lock by; nothing is read or written there.
    private var address: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
}

private let isTry: CUnsignedInt = 1 << 4
private let hasFailed: CUnsignedInt = 1 << 5

@_silgen_name("__tsan_mutex_create")
private func createMutex(_ address: UnsafeMutableRawPointer, _ flags: CUnsignedInt)

@_silgen_name("__tsan_mutex_destroy")
private func destroyMutex(_ address: UnsafeMutableRawPointer, _ flags: CUnsignedInt)

@_silgen_name("__tsan_mutex_pre_lock")
private func willLockMutex(_ address: UnsafeMutableRawPointer, _ flags: CUnsignedInt)

@_silgen_name("__tsan_mutex_post_lock")
private func didLockMutex(_ address: UnsafeMutableRawPointer, _ flags: CUnsignedInt, _ recursion: CInt)

@_silgen_name("__tsan_mutex_pre_unlock")
private func willUnlockMutex(_ address: UnsafeMutableRawPointer, _ flags: CUnsignedInt) -> CInt

@_silgen_name("__tsan_mutex_post_unlock")
private func didUnlockMutex(_ address: UnsafeMutableRawPointer, _ flags: CUnsignedInt)
#elseif canImport(Glibc) || canImport(Musl)
/// The one lock of this library.
///
/// It is not recursive, and is never held over user code, except for the bodies of transactions.
///
/// It is not a `Mutex`, which on Linux hands the thread's cached number to the kernel: a forked child still has the number of
/// a thread of its parent, and is ended when it unlocks what its parent has locked, or when two of its threads contend. A
/// mutex of the C library of the default kind does not look at the number.
///
/// Unchecked: the value is used only while the mutex is held, and both have one address for as long as this value.
package struct Locked<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    private let mutex: _Cell<pthread_mutex_t>
    private let value: _Cell<Value>

    package init(_ value: consuming sending Value) {
        // A mutex that is free: it owns nothing, so its end needs no call, and it may be moved before it is used.
        var free = pthread_mutex_t()
        #if canImport(Glibc)
        // One that spins for a moment before it waits: the lock is rarely held for longer than that.
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_ADAPTIVE_NP))
        pthread_mutex_init(&free, &attributes)
        #endif
        mutex = _Cell(free)
        self.value = _Cell(value)
    }

    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex._address)
        defer { pthread_mutex_unlock(mutex._address) }
        return try body(&value._address.pointee)
    }

    package borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard pthread_mutex_trylock(mutex._address) == 0 else { return nil }
        defer { pthread_mutex_unlock(mutex._address) }
        return try body(&value._address.pointee)
    }
}
#else
/// The one lock of this library.
package typealias Locked<Value: ~Copyable> = Mutex<Value>
#endif
