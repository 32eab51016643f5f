// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// Waiting for a word of memory that processes share, and locks on single bytes of a file.

extension SystemCalls {
    /// Waits until another thread or process wakes the caller, at most for some seconds.
    ///
    /// It returns at once if the word has another value. It may also return early without a reason.
    ///
    /// The address is a multiple of 4, in memory that remains mapped during the call.
    static func wait(onWordAt address: UInt, while value: UInt32, seconds: Double) {
        #if os(Linux)
        guard let number = callNumbers?.futex else { return sleep(seconds: min(seconds, longestBlindSleep)) }
        withTimespec(UInt64(min(max(seconds, 0), 3_600) * 1e9)) { time in
            _ = systemCall(number, address, futexWait, UInt(value), UInt(bitPattern: time), 0, 0)
        }
        #else
        sleep(seconds: min(seconds, longestBlindSleep))
        #endif
    }

    /// The longest sleep where nothing wakes the thread, in seconds.
    private static let longestBlindSleep = 0.000_2

    /// Wakes one or all threads of any process that wait for a word.
    static func wake(waitersOnWordAt address: UInt, all isEveryOne: Bool) {
        #if os(Linux)
        guard let number = callNumbers?.futex else { return }
        _ = systemCall(number, address, futexWake, isEveryOne ? UInt(CInt.max) : 1, 0, 0, 0)
        #endif
    }

    /// The numbers of the system calls `futex` and `renameat2`; `nil` where they are not known.
    static var callNumbers: (futex: Int, rename: Int)? {
        #if arch(x86_64)
        (202, 316)
        #elseif arch(arm64) || arch(riscv64)
        (98, 276)
        #else
        nil
        #endif
    }

    /// `FUTEX_WAIT` for memory that processes share, with a relative timeout.
    private static let futexWait: UInt = 0
    private static let futexWake: UInt = 1
}

// MARK: - Locks on single bytes

extension SystemCalls {
    /// Locks one byte of a file without waiting.
    ///
    /// The lock belongs to the open file description: the system releases it when that is closed, in particular when
    /// the last process that has it ends. On Linux, it is independent of ``tryLock(_:)``.
    ///
    /// - Returns: Whether the lock was acquired.
    func tryLock(byteAt offset: Int, of file: FileHandle) throws(SystemError) -> Bool {
        do {
            _ = try call(.lock, file.path) {
                withByteLock(at: offset) { fcntl(file.descriptor, Self.setByteLock, $0) }
            }
            return true
        } catch  where error.number == EWOULDBLOCK {
            return false
        }
    }

    #if canImport(Darwin)
    /// Unlocks one byte of a file.
    func unlock(byteAt offset: Int, of file: FileHandle) throws(SystemError) {
        _ = try call(.unlock, file.path) {
            withByteLock(at: offset, kind: F_UNLCK) { fcntl(file.descriptor, Self.setByteLock, $0) }
        }
    }
    #endif

    /// Returns whether another open file description has locked a byte of a file.
    func isLocked(byteAt offset: Int, of file: FileHandle) throws(SystemError) -> Bool {
        var kind = Int16(F_UNLCK)
        _ = try call(.lock, file.path) {
            withByteLock(at: offset) { lock in
                let result = fcntl(file.descriptor, Self.getByteLock, lock)
                kind = lock.pointee.l_type
                return result
            }
        }
        return kind != Int16(F_UNLCK)
    }

    /// The values of `F_OFD_GETLK` and `F_OFD_SETLK`, which not every C library declares.
    #if canImport(Darwin)
    private static let (getByteLock, setByteLock): (CInt, CInt) = (92, 90)
    #else
    private static let (getByteLock, setByteLock): (CInt, CInt) = (36, 37)
    #endif

    private typealias ByteLockCall = (UnsafeMutablePointer<flock>) -> CInt

    private func withByteLock(at offset: Int, kind: Int32 = Int32(F_WRLCK), _ body: ByteLockCall) -> CInt {
        var lock = flock()
        lock.l_type = Int16(kind)
        lock.l_whence = Int16(SEEK_SET)
        (lock.l_start, lock.l_len) = (off_t(offset), 1)
        // The pointer is valid during the call, and the system does not retain it.
        return withUnsafeMutablePointer(to: &lock) { body($0) }
    }
}

#if os(Linux)
/// The C function `syscall`, which Swift does not import because its number of arguments varies.
///
/// The calls pass six integers. On the supported processors, these are passed alike to functions with a fixed
/// and a variable number of arguments.
@_silgen_name("syscall")
func systemCall(
    _ number: Int,
    _ first: UInt,
    _ second: UInt,
    _ third: UInt,
    _ fourth: UInt,
    _ fifth: UInt,
    _ sixth: UInt
) -> Int
#endif
