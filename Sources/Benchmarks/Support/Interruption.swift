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

/// Removes the run's directory when the run is interrupted.
final class Interruption {
    private let sources: [any DispatchSourceSignal]

    init(removing directory: String) {
        sources = [SIGINT, SIGTERM, SIGHUP]
            .map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler {
                    do {
                        try FileManager.default.removeItem(atPath: directory)
                    } catch {
                        Console.tell("Benchmarks: \(directory) is left: \(error)")
                    }
                    exit(128 + number)
                }
                source.activate()
                return source
            }
        // A child that has gone is met when it is written to, not by a signal.
        signal(SIGPIPE, SIG_IGN)
    }

    func cancel() {
        for source in sources { source.cancel() }
    }
}
