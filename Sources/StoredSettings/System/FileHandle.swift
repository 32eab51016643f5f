// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// An open file, directory, queue or socket, which is closed when it is deallocated.
///
/// A program may close all its descriptors, for example to become a daemon. The next file that it opens then receives the
/// number of a descriptor of this library. So the number is only used while it leads to what was opened.
package final class FileHandle: Sendable {
    /// The path for messages.
    package let path: FilePath
    private let number: CInt
    private let identity: FileIdentity?
    /// Distinguishes the handle from others with the same descriptor: the file may have been opened again.
    private let id = lastID.add(1, ordering: .relaxed).newValue
    /// Whether the descriptor is marked, because its identity is that of all queues.
    private let isMarked: Bool

    package init(descriptor: CInt, path: FilePath, isQueue: Bool = false) {
        (number, self.path, isMarked) = (descriptor, path, isQueue)
        if isQueue { Self.mark(descriptor) }
        identity = Self.identity(of: descriptor)
        Self.owner(of: descriptor)?.pointee.store(id, ordering: .releasing)
    }

    deinit {
        // All data has been passed to the system before, so an error of `close` has no consequence.
        if isOpen { _ = close(number) }
    }

    /// The descriptor; if the program has closed it, -1, with which every call fails with `EBADF`.
    package var descriptor: CInt { isOpen ? number : -1 }

    /// Whether the program has not closed the descriptor.
    package var isOpen: Bool {
        identity != nil && Self.owner(of: number)?.pointee.load(ordering: .acquiring) ?? id == id
            && Self.identity(of: number) == identity && (!isMarked || Self.hasMark(number))
    }

    /// Runs a body that opens files; runs it again if the program closes one of them meanwhile.
    static func reopening<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch  where isClosed(error) {
            return try body()
        }
    }

    /// Whether an error means that a descriptor was closed.
    static func isClosed(_ error: any Error) -> Bool {
        (((error as? SettingsError)?.underlying ?? error) as? SystemError)?.number == EBADF
    }

    private static let lastID = Atomic<UInt64>(0)

    /// The descriptors that have an owner.
    private static let mostOwned = 1 << 16

    /// The IDs of the handles that have received the descriptors last, beginning with 0.
    ///
    /// The memory, of which only used pages exist, is never freed and accessed only as atomics, so `unsafe` hides no race.
    nonisolated(unsafe) private static let owners =
        SystemCalls.mapZeros(mostOwned * MemoryLayout<Atomic<UInt64>>.stride)?
        .bindMemory(to: Atomic<UInt64>.self, capacity: mostOwned)

    private static func owner(of descriptor: CInt) -> UnsafeMutablePointer<Atomic<UInt64>>? {
        (0..<mostOwned).contains(Int(descriptor)) ? owners.map { $0 + Int(descriptor) } : nil
    }

    private static func identity(of descriptor: CInt) -> FileIdentity? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? FileStatus(status).identity : nil
    }

    // The mark is the signal that the system would send if events were to be signaled, which they are not.

    #if os(Linux)
    private static func mark(_ descriptor: CInt) { _ = fcntl(descriptor, setSignal, SIGURG) }

    private static func hasMark(_ descriptor: CInt) -> Bool { fcntl(descriptor, getSignal) == SIGURG }

    /// `F_SETSIG` and `F_GETSIG`, which not every C library declares; see fcntl(2).
    private static let (setSignal, getSignal): (CInt, CInt) = (10, 11)
    #else
    private static func mark(_ descriptor: CInt) {}

    private static func hasMark(_ descriptor: CInt) -> Bool { true }
    #endif
}

extension SystemCalls {
    /// Makes a call that returns a new descriptor, which is never that of a standard stream.
    ///
    /// - Returns: The descriptor, or -1 with the reason in `errno`.
    package static func newDescriptor(_ create: () -> CInt) -> CInt {
        openStandardStreams()
        return aboveStandardStreams(create())
    }

    /// Opens `/dev/null` for each standard stream that is closed.
    ///
    /// Otherwise, the system would give its number to the next file, and what the program prints would be written into that
    /// file. The streams stay open, for reading only, so that a program that prints still receives the error.
    package static func openStandardStreams() {
        for stream in 0..<firstDescriptor where fcntl(stream, F_GETFD) == -1 {
            let descriptor = openat(AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC)
            // Another thread has opened a file for the stream.
            if descriptor >= firstDescriptor { _ = close(descriptor) }
        }
    }

    /// Replaces a new descriptor if another thread has just closed a standard stream, or there is no `/dev/null`.
    package static func aboveStandardStreams(_ descriptor: CInt) -> CInt {
        guard (0..<firstDescriptor).contains(descriptor) else { return descriptor }
        let replacement = fcntl(descriptor, F_DUPFD_CLOEXEC, firstDescriptor)
        let number = errno
        _ = close(descriptor)
        errno = number
        return replacement
    }

    /// The first descriptor that is not a standard stream.
    private static let firstDescriptor: CInt = 3
}
