// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Writes messages that are not results to standard error.
enum Console {
    private static let isTerminal = isatty(STDERR_FILENO) == 1

    static func printError(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }

    /// Replaces the progress line, if standard error is a terminal.
    static func showProgress(_ text: String) {
        guard isTerminal else { return }
        FileHandle.standardError.write(Data("\r\u{1B}[K\(text)".utf8))
    }
}
