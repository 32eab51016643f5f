// SPDX-License-Identifier: Apache-2.0

@preconcurrency import Dispatch
import Foundation

/// The signals that the process receives, as a stream.
enum Signals {
    /// Returns a stream of the given signals, which do not end the process from now on.
    static func received(_ numbers: Int32...) -> AsyncStream<Int32> {
        AsyncStream { continuation in
            let sources = numbers.map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number)
                source.setEventHandler { continuation.yield(number) }
                source.activate()
                return source
            }
            // A source ends with its last reference, so the stream holds them.
            continuation.onTermination = { _ in
                for source in sources { source.cancel() }
            }
        }
    }
}
