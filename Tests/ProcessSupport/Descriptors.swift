// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a program does with descriptors that are not its own.
package enum Descriptors {
    private static let first: CInt = 3
    private static let end: CInt = 256

    /// Closes all descriptors but those of the standard streams, as a program may that becomes a daemon, and opens a file for
    /// each of the numbers that became free, unless its path is `-`.
    package static func closeAll(openingInstead path: String) throws {
        let numbers = (first..<end).filter { close($0) == 0 }
        guard path != "-" else { return }
        for _ in numbers {
            guard open(path, O_RDWR | O_CLOEXEC) >= 0 else { throw ChildProcess.Failure("open: error \(errno)") }
        }
    }
}
