// SPDX-License-Identifier: Apache-2.0

@preconcurrency import Dispatch
import Foundation

/// The signals that the process receives, as a stream.
enum Signals {
    /// Returns a stream of the given signals, which do not end the process from now on.
    static func received(_ numbers: Int32...) async -> AsyncStream<Int32> {
        let (signals, continuation) = AsyncStream.makeStream(of: Int32.self)
        var sources: [any DispatchSourceSignal] = []
        for number in numbers {
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { continuation.yield(number) }
            // Until the source is registered, the signal is lost. So nothing is shown before.
            await withCheckedContinuation { registration in
                source.setRegistrationHandler { registration.resume() }
                signal(number, SIG_IGN)
                source.activate()
            }
            sources.append(source)
        }
        // A source ends with its last reference, so the stream holds them.
        continuation.onTermination = { [sources] _ in
            for source in sources { source.cancel() }
        }
        return signals
    }
}
