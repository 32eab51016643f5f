// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Ends the process that measures when the one that waits for it is to end, so that this one can clean up.
enum Interruption {
    private static let process = Atomic<Int32>(0)

    /// Lets this process be interrupted: one that is started by a thread of a pool inherits that thread's deafness.
    ///
    /// Call it on the main thread, which is then the one that hears.
    static func allow() {
        var signals = sigset_t()
        sigemptyset(&signals)
        pthread_sigmask(SIG_SETMASK, &signals, nil)
    }

    /// Begins to pass on what is meant for this process, when the other runs: it would inherit it otherwise.
    static func passOn(to id: Int32) {
        process.store(id, ordering: .sequentiallyConsistent)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // A handler may do little: it loads a number that is there already, and calls `kill`, which is allowed.
            signal(number) { _ in
                let id = Interruption.process.load(ordering: .sequentiallyConsistent)
                if id > 0 { kill(id, SIGTERM) }
            }
        }
    }

    /// Ends that, when the other has ended: its number may be given to another process.
    static func end() {
        process.store(0, ordering: .sequentiallyConsistent)
    }
}
