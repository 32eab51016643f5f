// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Ends the process that measures when the one that waits for it is to end, so that this one can clean up.
final class Interruption {
    private let sources: [any DispatchSourceSignal]

    /// Make it when the process runs, which would ignore the signals otherwise.
    init(of process: Process) {
        let id = process.processIdentifier
        sources = [SIGINT, SIGTERM, SIGHUP]
            .map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { kill(id, SIGTERM) }
                source.activate()
                return source
            }
    }

    func cancel() {
        for source in sources { source.cancel() }
    }
}
