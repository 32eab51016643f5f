// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a program does with descriptors that are not its own.
package enum Descriptors {
    private static let first: CInt = 3
    private static let end: CInt = 256

    /// Closes all descriptors but those of the standard streams, as a program may that becomes a daemon, and opens a file for
    /// each of the numbers that became free, unless its path is `-`.
    ///
    /// Those of Dispatch stay open: without them, it ends the process as soon as it looks at its threads.
    package static func closeAll(openingInstead path: String) throws {
        let numbers = try (first..<end).filter { try !isOfDispatch($0) && close($0) == 0 }
        guard path != "-" else { return }
        for _ in numbers {
            guard open(path, O_RDWR | O_CLOEXEC) >= 0 else { throw ChildProcess.Failure("open: error \(errno)") }
        }
    }

    private static func isOfDispatch(_ number: CInt) throws -> Bool {
        let link = "/proc/self/fd/\(number)"
        guard fcntl(number, F_GETFD) >= 0, FileManager.default.fileExists(atPath: "/proc/self/fd") else { return false }
        let target = try FileManager.default.destinationOfSymbolicLink(atPath: link)
        return ["[eventpoll]", "[eventfd]", "[timerfd]"].contains { target.hasSuffix($0) }
    }
}
