// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Ends the measuring process when the waiting process is interrupted, so that the waiting process can clean up.
enum Interruption {
    private static let process = Atomic<Int32>(0)

    /// Unblocks the interrupting signals.
    ///
    /// A process that is started by a thread of a pool inherits the blocked signals of that thread. Call this on the
    /// main thread, which then receives the signals.
    static func allow() {
        var signals = sigset_t()
        sigemptyset(&signals)
        pthread_sigmask(SIG_SETMASK, &signals, nil)
    }

    /// Starts to forward signals once the child runs, so that the child does not inherit the handler.
    static func passOn(to id: Int32) {
        process.store(id, ordering: .sequentiallyConsistent)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // A signal handler may do little: this one loads an initialized number and calls `kill`, which is allowed.
            signal(number) { _ in
                let id = Interruption.process.load(ordering: .sequentiallyConsistent)
                if id > 0 { kill(id, SIGTERM) }
            }
        }
    }

    /// Stops forwarding when the child has ended, because its process ID may be reused.
    static func end() {
        process.store(0, ordering: .sequentiallyConsistent)
    }
}
