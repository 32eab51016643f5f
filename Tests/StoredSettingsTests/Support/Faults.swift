// SPDX-License-Identifier: Apache-2.0

import Synchronization

@testable import StoredSettings

/// Makes system calls fail on request.
final class Faults: Sendable {
    private struct Fault: Sendable {
        var number: CInt
        var matches: @Sendable (String) -> Bool
    }

    private let faults = Mutex<[SystemCalls.Name: Fault]>([:])

    var system: SystemCalls {
        SystemCalls { [self] call, path in
            guard let fault = faults.withLock({ $0[call] }), fault.matches(path) else { return nil }
            return fault.number
        }
    }

    func fail(
        _ call: SystemCalls.Name,
        with number: CInt,
        where matches: @escaping @Sendable (_ path: String) -> Bool = { _ in true }
    ) {
        faults.withLock { $0[call] = Fault(number: number, matches: matches) }
    }

    func stop() {
        faults.withLock { $0 = [:] }
    }
}
