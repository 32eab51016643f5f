// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// What a process writes, line by line.
///
/// It is a file, and one without a name, so that nothing is left of it. The other end of a pipe may be inherited by
/// helpers that are started at the same moment, and then the pipe does not end with its process.
final class OutputFile: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        /// How many of the bytes have been given out.
        var position = 0
        var isClosed = false
    }

    let handle: FileHandle
    private let state = Mutex(State())

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("StoredSettings-\(UUID().uuidString)")
        try Data().write(to: url)
        handle = try FileHandle(forUpdating: url)
        try FileManager.default.removeItem(at: url)
    }

    /// The next line, without its end; `nil` when there is none yet that is whole.
    func next() -> String? {
        state.withLock { state in
            readOn(&state)
            let rest = state.bytes[state.position...]
            guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            state.position = end + 1
            return String(decoding: rest[..<end], as: UTF8.self)
        }
    }

    /// All that has been written so far.
    var text: String {
        state.withLock { state in
            readOn(&state)
            return String(decoding: state.bytes, as: UTF8.self)
        }
    }

    /// Reads the rest and closes the file: nothing is written to it any more.
    func close() throws {
        try state.withLock { state in
            readOn(&state)
            guard !state.isClosed else { return }
            state.isClosed = true
            try handle.close()
        }
    }

    /// Reads what has been written since the last time, without moving the place where the process writes.
    private func readOn(_ state: inout State) {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while !state.isClosed {
            let count = pread(handle.fileDescriptor, &chunk, chunk.count, off_t(state.bytes.count))
            guard count > 0 else { return }
            state.bytes += chunk.prefix(count)
        }
    }
}
