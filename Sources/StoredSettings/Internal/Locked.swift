// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if !THREAD_SANITIZER
/// The lock of this library: not recursive, and never held over user code.
///
/// Where the body of a transaction runs under a lock, that is a ``WriterLock``.
///
/// A name of its own, so that there is one place to change it.
typealias Locked<Value: ~Copyable> = Mutex<Value>
#else
/// The same lock, which tells Thread Sanitizer what it does.
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

    /// What the sanitizer knows this lock by; nothing is read or written there.
    private var address: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
}

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
#endif
