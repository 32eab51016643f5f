// SPDX-License-Identifier: Apache-2.0

import Synchronization

@testable import StoredSettings

/// Counts the system calls for one path, or for all paths, by kind.
final class CallCounter: Sendable {
    private let counts = Mutex<[SystemCalls.Name: Int]>([:])
    private let path: String?

    init(_ path: String? = nil) { self.path = path }

    var system: SystemCalls {
        SystemCalls(fault: { [self] call, called in
            if path == nil || called == path { counts.withLock { $0[call, default: 0] += 1 } }
            return nil
        })
    }

    func count(_ call: SystemCalls.Name) -> Int { counts.withLock { $0[call] ?? 0 } }
}
