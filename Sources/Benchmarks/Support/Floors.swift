// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The minimum costs that the library's results are compared with.
enum Floors {
    /// Reads a number that other threads may change.
    static func atomicLoad() -> @Sendable (Int) -> Int {
        let number = SharedNumber()
        number.change()
        return { BlackHole.sum($0) { number.value.load(ordering: .acquiring) } }
    }

    /// Reads a string that other threads may change, and retains it.
    static func mutexRead() -> @Sendable (Int) -> Int {
        let text = SharedText()
        return { BlackHole.sum($0) { text.read().utf8.count } }
    }

    /// Writes a record that survives the death of the process, under a lock between processes.
    static func lockedAppend(in workspace: Workspace) throws -> Operation {
        let file = try AppendedFile(workspace.newPath())
        return .each("flock + unlock + 64 B append") { try file.appendLocked() }
    }

    /// Does the same to a file that other processes write to as well.
    static func lockedAppend(at path: String) throws -> () throws -> Void {
        let file = try AppendedFile(path)
        return { try file.appendLocked() }
    }

    /// Writes a record that survives a power loss.
    static func synchronizedAppend(in workspace: Workspace) throws -> Operation {
        let file = try AppendedFile(workspace.newPath())
        return .each("64 B append + fdatasync") { try file.appendSynchronized() }
    }
}

private final class SharedNumber: Sendable {
    let value = Atomic(0)

    /// Not inlined, because the optimizer would notice that the number never changes and read it only once.
    @inline(never)
    func change() { value.store(42, ordering: .releasing) }
}

private final class SharedText: Sendable {
    private let text = Mutex(Sample.text)

    /// Not inlined, so that the caller receives its own string, as it does from the library, instead of only its
    /// length.
    @inline(never)
    func read() -> String { text.withLock(\.self) }
}

private final class AppendedFile {
    private let descriptor: CInt
    private let record = [UInt8](repeating: 0x20, count: 64)

    init(_ path: String) throws {
        descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        try check(descriptor)
    }

    deinit {
        close(descriptor)
    }

    func appendLocked() throws {
        try check(flock(descriptor, LOCK_EX))
        try append()
        try check(flock(descriptor, LOCK_UN))
    }

    func appendSynchronized() throws {
        try append()
        #if canImport(Darwin)
        try check(fcntl(descriptor, F_FULLFSYNC))
        #else
        try check(fdatasync(descriptor))
        #endif
    }

    private func append() throws {
        // The bytes are the array's, and the count is its count.
        let count = record.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        try check(count == record.count ? 0 : -1)
    }

    private func check(_ result: CInt) throws {
        guard result >= 0 else { throw Failure("a floor could not be measured: \(String(cString: strerror(errno)))") }
    }
}
