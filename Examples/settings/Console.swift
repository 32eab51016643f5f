// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Output of command-line programs.
public enum Console {
    /// Prints a line without buffering, also to a pipe or a file.
    public static func show(_ line: String) {
        print(line)
        fflush(nil)
    }

    /// Exits with a failure and a message on standard error.
    public static func fail(_ message: String) -> Never {
        var line = message + "\n"
        _ = line.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        exit(EXIT_FAILURE)
    }
}
