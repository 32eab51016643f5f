// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// Shared memory, waiting for its words, and locks of files and their bytes.

extension SystemCalls {
    /// The size of the pages that the system maps, in bytes: 4, 16 or 64 KiB.
    static let pageSize = sysconf(CInt(_SC_PAGESIZE))

    /// Maps the beginning of a file into memory that is shared with other processes.
    func mapShared(
        _ file: FileHandle,
        _ count: Int,
        isWritable: Bool
    ) throws(SystemError) -> UnsafeMutableRawPointer {
        var start: UnsafeMutableRawPointer?
        _ = try call(.map, file.path) {
            let protection = isWritable ? PROT_READ | PROT_WRITE : PROT_READ
            start = mmap(nil, count, protection, MAP_SHARED, file.descriptor, 0)
            // The address with all bits set is `MAP_FAILED`.
            return start == UnsafeMutableRawPointer(bitPattern: -1) ? -1 : 0
        }
        guard let start else { throw SystemError(call: .map, path: file.path, number: EINVAL) }
        return start
    }

    /// Removes a mapping, which fails only when there is none.
    func unmap(_ start: UnsafeMutableRawPointer, _ count: Int) {
        _ = munmap(start, count)
    }

    /// Passes changes of a shared mapping to its file, so that synchronizing the file includes them.
    ///
    /// On Linux, `fsync` and `fdatasync` do that. Apple documents it for neither `fsync` nor `F_FULLFSYNC`.
    func flush(_ start: UnsafeMutableRawPointer, _ count: Int, of file: FileHandle) throws(SystemError) {
        #if canImport(Darwin)
        _ = try call(.sync, file.path) { msync(start, count, MS_SYNC) }
        #endif
    }

    /// Makes the pages of some bytes of a shared mapping writable, as a store to each page would, without changing them.
    ///
    /// It is an optimization, so a failure is ignored: Linux before 5.14 cannot do this, and the pages may no longer exist.
    func makeWritable(_ start: UnsafeMutableRawPointer, _ count: Int) {
        #if os(Linux)
        // Glibc's headers may be older than `MADV_POPULATE_WRITE`; see madvise(2).
        let populateForWriting: CInt = 23
        let offset = Int(bitPattern: start) % Self.pageSize
        _ = madvise(start - offset, count + offset, populateForWriting)
        #endif
    }

    /// Maps private memory of zeros; `nil` when no memory is available.
    static func mapZeros(_ count: Int) -> UnsafeMutableRawPointer? {
        let start = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
        return start == UnsafeMutableRawPointer(bitPattern: -1) ? nil : start
    }

    /// Replaces a mapping by a read-only mapping of the beginning of a file.
    ///
    /// The system replaces the mapping atomically. If the call fails, the old mapping may be gone.
    static func mapShared(_ file: FileHandle, over start: UnsafeMutableRawPointer, _ count: Int) -> Bool {
        mmap(start, count, PROT_READ, MAP_SHARED | MAP_FIXED, file.descriptor, 0) == start
    }

    /// Replaces a mapping by private memory of zeros.
    ///
    /// It is safe to call in a signal handler.
    static func mapZeros(at address: UInt, _ count: Int) -> Bool {
        let flags = MAP_PRIVATE | MAP_ANON | MAP_FIXED
        let start = mmap(UnsafeMutableRawPointer(bitPattern: address), count, PROT_READ | PROT_WRITE, flags, -1, 0)
        return start == UnsafeMutableRawPointer(bitPattern: address)
    }

    /// Duplicates the descriptor of an open file, with another path for messages.
    ///
    /// Both share their file lock, and each is closed independently.
    func duplicate(_ file: FileHandle, path: FilePath) throws(SystemError) -> FileHandle {
        let descriptor = try call(.open, path) { Self.newDescriptor { fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0) } }
        return FileHandle(descriptor: descriptor, path: path)
    }

    /// Acquires the lock of a file without waiting, and returns whether that has succeeded.
    package func tryLock(_ file: FileHandle) throws(SystemError) -> Bool {
        #if canImport(Darwin)
        if mayHaveLockedBytes(file) { return try tryLock(byteAt: Self.lockedByte, of: file) }
        #endif
        do {
            _ = try call(.lock, file.path) { flock(file.descriptor, LOCK_EX | LOCK_NB) }
            return true
        } catch  where error.number == EWOULDBLOCK {
            return false
        }
    }

    /// Releases the lock of a file.
    ///
    /// Closing the file is not enough, because its mapping retains the lock. The system never refuses to unlock a lock that is
    /// held.
    package func unlock(_ file: FileHandle) {
        #if canImport(Darwin)
        if mayHaveLockedBytes(file) { return unlock(byteAt: Self.lockedByte, of: file) }
        #endif
        if flock(file.descriptor, LOCK_UN) == 0 { didUnlock(file.path) }
    }

    #if canImport(Darwin)
    private static let lockedByte = 1 << 41

    /// Whether processes may lock single bytes of a file, for which it has to be open for writing.
    ///
    /// On Apple systems, `flock` conflicts with these locks, so another byte is locked instead.
    private func mayHaveLockedBytes(_ file: FileHandle) -> Bool {
        fcntl(file.descriptor, F_GETFL) & O_ACCMODE == O_RDWR
    }
    #endif
}

// MARK: - Waiting for a word of shared memory

extension SystemCalls {
    /// Waits until another thread or process wakes the caller, at most for some seconds.
    ///
    /// It returns at once if the word has another value. It may also return early without a reason.
    ///
    /// The address is a multiple of 4, in memory that remains mapped during the call.
    static func wait(onWordAt address: UInt, while value: UInt32, seconds: Double) {
        #if os(Linux)
        withTimespec(UInt64(min(max(seconds, 0), 3_600) * 1e9)) { time in
            _ = systemCall(callNumbers.futex, address, futexWait, UInt(value), UInt(bitPattern: time), 0, 0)
        }
        #else
        // Nothing wakes the thread.
        sleep(seconds: min(seconds, 0.000_2))
        #endif
    }

    /// Wakes one or all threads of any process that wait for a word.
    static func wake(waitersOnWordAt address: UInt, all isEveryOne: Bool) {
        #if os(Linux)
        _ = systemCall(callNumbers.futex, address, futexWake, isEveryOne ? UInt(CInt.max) : 1, 0, 0, 0)
        #endif
    }

    #if os(Linux)
    /// The numbers of the system calls `futex` and `renameat2`.
    #if arch(x86_64)
    static let callNumbers = (futex: 202, rename: 316)
    #elseif arch(arm64) || arch(riscv64)
    static let callNumbers = (futex: 98, rename: 276)
    #endif

    /// `FUTEX_WAIT` for memory that processes share, with a relative timeout.
    private static let futexWait: UInt = 0
    private static let futexWake: UInt = 1
    #endif
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
    func unlock(byteAt offset: Int, of file: FileHandle) {
        _ = withByteLock(at: offset, kind: F_UNLCK) { fcntl(file.descriptor, Self.setByteLock, $0) }
        didUnlock(file.path)
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
