// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The system calls of this library, each wrapped once.
///
/// They retry what was interrupted, write what was written short, and throw a ``SystemError`` for the rest. A test makes
/// any of them fail by giving `fault`, cuts writes short, and looks at the files after every call.
package struct SystemCalls: Sendable {
    package enum Name: String, Sendable, CaseIterable {
        case open, read, write, sync, rename, unlink, makeDirectory, status, lock, changeMode, changeOwner, truncate
        case readLink, resolve, watch, access, map, unlock, thread
        /// Not a call: a change of memory that is shared with other processes.
        case publish
    }

    /// Asked before every call: the error number that it returns is the call's outcome.
    package typealias Fault = @Sendable (_ call: Name, _ path: String) -> CInt?
    /// Asked before every write: how many of the bytes to write at most.
    package typealias WriteLimit = @Sendable (_ path: String, _ count: Int) -> Int?
    /// Told of every call that has succeeded.
    package typealias Witness = @Sendable (_ call: Name, _ path: String) -> Void

    private let fault: Fault?
    private let writeLimit: WriteLimit?
    private let witness: Witness?

    package init(fault: Fault? = nil, writeLimit: WriteLimit? = nil, witness: Witness? = nil) {
        self.fault = fault
        self.writeLimit = writeLimit
        self.witness = witness
    }

    /// How many of some bytes the next call is to write.
    func writable(_ count: Int, of path: FilePath) -> Int {
        guard let writeLimit else { return count }
        return min(max(writeLimit(path.description, count) ?? count, 1), count)
    }

    /// Tells of a change of shared memory.
    func didPublish(_ path: FilePath) {
        witness?(.publish, path.description)
    }

    /// Makes one call, again while it is interrupted, unless the fault has it fail.
    ///
    /// The number of interruptions is bounded, so that a fault that always interrupts ends too.
    func call(_ name: Name, _ path: FilePath, _ body: () -> CInt) throws(SystemError) -> CInt {
        // What a NUL follows would be another path.
        guard path.isPossible else { throw SystemError(call: name, path: path, number: EINVAL) }
        var interruptions = 0
        while true {
            var number = fault?(name, path.description) ?? 0
            if number == 0 {
                let result = body()
                if result >= 0 {
                    witness?(name, path.description)
                    return result
                }
                number = errno
            }
            interruptions += 1
            guard number == EINTR, interruptions < 1_000 else {
                throw SystemError(call: name, path: path, number: number)
            }
        }
    }
}

extension SystemCalls {
    /// Makes one call with a path that begins in a directory.
    ///
    /// - Parameters:
    ///   - name: The call.
    ///   - path: The path.
    ///   - directory: The directory that a relative path begins in; `nil` for the current one.
    ///   - body: Makes the call with a directory's descriptor and a path.
    /// - Returns: The outcome of the call, at least 0.
    /// - Throws: ``SystemError``.
    func call(
        _ name: Name,
        _ path: FilePath,
        in directory: FileHandle?,
        _ body: (CInt, UnsafePointer<CChar>) -> CInt
    ) throws(SystemError) -> CInt {
        guard path.isPossible else { throw SystemError(call: name, path: path, number: EINVAL) }
        return try call(name, directory.map { $0.path.appending(path) } ?? path) {
            path.withCString { body(directory?.descriptor ?? AT_FDCWD, $0) }
        }
    }
}

/// A system call that has failed.
package struct SystemError: Error, Hashable, CustomStringConvertible {
    package var call: SystemCalls.Name
    package var path: FilePath
    /// The number that the call left in `errno`.
    package var number: CInt

    package init(call: SystemCalls.Name, path: FilePath, number: CInt) {
        self.call = call
        self.path = path
        self.number = number
    }

    /// Whether the process is only short of something that it may have again in a moment.
    var isTransient: Bool { [EMFILE, ENFILE, ENOMEM].contains(number) }

    /// The error in the system's words, without the path.
    package var reason: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            // The call fills the buffer, which is long enough for every text of the C library and does not leave here.
            buffer.initialize(repeating: 0)
            guard let start = buffer.baseAddress, strerror_r(number, start, buffer.count) == 0 else {
                return "error \(number)"
            }
            return String(cString: start)
        }
    }

    package var description: String { "\(call.rawValue) \(path): \(reason)" }
}
