// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// The lines that come out of a pipe, whole ones only.
final class LineBuffer: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        /// How many of the bytes have been given out.
        var position = 0
        var isAtEnd = false
    }

    let pipe = Pipe()
    private let state = Mutex(State())

    init() {
        pipe.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            self?.append(data)
        }
    }

    private func append(_ data: Data) {
        state.withLock { state in
            state.bytes.append(contentsOf: data)
            state.isAtEnd = data.isEmpty
        }
    }

    /// The next line, without its end; `nil` when there is none yet.
    func next() -> String? {
        state.withLock { state in
            let rest = state.bytes[state.position...]
            guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            state.position = end + 1
            return String(decoding: rest[..<end], as: UTF8.self)
        }
    }

    /// Whether nothing more will come.
    var isAtEnd: Bool { state.withLock { $0.isAtEnd } }

    /// All that has come so far.
    var text: String { state.withLock { String(decoding: $0.bytes, as: UTF8.self) } }
}
