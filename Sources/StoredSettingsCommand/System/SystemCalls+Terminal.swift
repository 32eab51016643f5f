// SPDX-License-Identifier: Apache-2.0

import StoredSettings

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// Standard input and output, and the terminal that they may be.

extension SystemCalls {
    /// A standard stream of the process.
    enum StandardStream: CInt {
        case input, output, error
    }

    /// Returns whether a standard stream is a terminal.
    static func isTerminal(_ stream: StandardStream) -> Bool {
        isatty(stream.rawValue) == 1
    }

    /// Returns the number of columns of the terminal that is standard output; `nil` if it is unknown.
    static func terminalColumns() -> Int? {
        var size = winsize()
        // The call fills the structure, and does not retain the pointer.
        guard ioctl(StandardStream.output.rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Writes bytes to standard output.
    ///
    /// If its reader has ended, this throws and does not end the process.
    ///
    /// - Throws: ``SystemError``, with `EPIPE` if the reader has ended. Some of the bytes may have been written.
    func writeToStandardOutput(_ bytes: [UInt8]) throws(SystemError) {
        let stream = StandardStream.output.rawValue
        var done = 0
        while done < bytes.count {
            do {
                done += Int(
                    try call(.write, "standard output") {
                        bytes.withUnsafeBytes { buffer in
                            // The pointer is to the remaining part of the array, and is used only during the call.
                            let rest = UnsafeRawBufferPointer(rebasing: buffer[done...])
                            return SystemCalls.withoutPipeSignal {
                                CInt(clamping: systemWrite(stream, rest.baseAddress, min(rest.count, 1 << 20)))
                            }
                        }
                    }
                )
            } catch  where error.number == EAGAIN {
                // Another program has made the terminal or the pipe nonblocking.
                var descriptor = pollfd(fd: stream, events: Int16(POLLOUT), revents: 0)
                // The pointer is valid during the call.
                _ = poll(&descriptor, 1, 1_000)
            }
        }
    }

    /// Reads standard input to its end.
    ///
    /// - Throws: ``SystemError``, with `EFBIG` if it is longer than a settings file can be.
    func readStandardInput() throws(SystemError) -> [UInt8] {
        try readToEnd(StandardStream.input.rawValue, "standard input")
    }

    /// Reads a pipe, a terminal or another file without offsets to its end.
    ///
    /// - Throws: ``SystemError``, with `EFBIG` if it is longer than a settings file can be.
    func readStream(_ file: FileHandle) throws(SystemError) -> [UInt8] {
        try readToEnd(file.descriptor, file.path)
    }

    private func readToEnd(_ descriptor: CInt, _ path: FilePath) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var page = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = try call(.read, path) {
                page.withUnsafeMutableBytes { buffer in
                    // The pointer is used only during the call, and within its bounds.
                    CInt(clamping: read(descriptor, buffer.baseAddress, buffer.count))
                }
            }
            guard count > 0 else { return bytes }
            bytes += page.prefix(Int(count))
            guard bytes.count <= SettingsFile.longestFile else {
                throw SystemError(call: .read, path: path, number: EFBIG)
            }
        }
    }
}
