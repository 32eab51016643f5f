// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization

/// The output of a process, line by line.
///
/// The output goes to an unlinked file, so that nothing is left behind, and the process never waits for a reader.
package final class OutputFile: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        /// The number of bytes that `next()` has consumed.
        var position = 0
    }

    let descriptor: CInt
    private let state = Mutex(State())

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("StoredSettings-\(UUID().uuidString)")
        descriptor = open(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw ChildProcess.Failure("\(url.path) cannot be created: error \(errno)") }
        unlink(url.path)
    }

    deinit {
        close(descriptor)
    }

    /// The next complete line, without its terminator; `nil` if there is none yet.
    package func next() -> String? {
        state.withLock { state in
            readNewOutput(&state)
            return nextLine(&state)
        }
    }

    /// The complete lines that were printed by now, without their terminators.
    ///
    /// This ends although the process may print faster than lines are consumed.
    package func remaining() -> [String] {
        state.withLock { state in
            readNewOutput(&state)
            var lines: [String] = []
            while let line = nextLine(&state) { lines.append(line) }
            return lines
        }
    }

    private func nextLine(_ state: inout State) -> String? {
        let rest = state.bytes[state.position...]
        guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        state.position = end + 1
        return String(decoding: rest[..<end], as: UTF8.self)
    }

    /// The whole output so far.
    package var text: String {
        state.withLock { state in
            readNewOutput(&state)
            return String(decoding: state.bytes, as: UTF8.self)
        }
    }

    /// Reads new output without moving the offset at which the process writes.
    private func readNewOutput(_ state: inout State) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size > state.bytes.count else { return }
        var chunk = [UInt8](repeating: 0, count: Int(status.st_size) - state.bytes.count)
        let count = pread(descriptor, &chunk, chunk.count, off_t(state.bytes.count))
        if count > 0 { state.bytes += chunk.prefix(count) }
    }
}
