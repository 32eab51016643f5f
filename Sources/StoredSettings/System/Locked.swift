// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Platform.md, "The lock on Linux is a POSIX mutex".

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

#if THREAD_SANITIZER
/// The lock of this library, which reports its operations to Thread Sanitizer.
///
/// A contended `Mutex` is acquired in the kernel, which the sanitizer does not observe. Without these reports, it would
/// consider two successive holders unsynchronized, and report a false race.
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

    /// The address that identifies this lock to the sanitizer, which is never dereferenced.
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
/// The lock of this library.
///
/// It is not recursive, and is never held while user code runs, except for the bodies of transactions and for requirements.
///
/// It is not a `Mutex`. On Linux, a `Mutex` passes the cached thread ID to the kernel. In a forked child that is still
/// the ID of a thread of the parent, so the child is killed when it unlocks a lock that the parent has locked, or when
/// two of its threads contend. A default mutex of the C library does not check the ID.
///
/// Unchecked: the value is accessed only while the mutex is held, and both have a stable address while the lock exists.
package struct Locked<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    private let mutex: _Cell<pthread_mutex_t>
    private let value: _Cell<Value>

    package init(_ value: consuming sending Value) {
        // An unlocked mutex owns no resources. So it needs no call to destroy it, and it can be moved before its first
        // use.
        var free = pthread_mutex_t()
        #if canImport(Glibc)
        // An adaptive mutex spins for a moment before it waits. The lock is rarely held for longer than that.
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
/// The lock of this library.
///
/// It is not a type alias, because a `package` declaration cannot name a type of a module that is imported internally.
package struct Locked<Value: ~Copyable>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>

    package init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock(body)
    }

    package borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try mutex.withLockIfAvailable(body)
    }
}
#endif
