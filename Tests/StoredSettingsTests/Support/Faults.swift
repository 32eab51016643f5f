// SPDX-License-Identifier: Apache-2.0

import Synchronization

@testable import StoredSettings

/// Makes system calls fail while it is told so.
final class Faults: Sendable {
    private struct Fault: Sendable {
        var number: CInt
        var isMeant: @Sendable (String) -> Bool
    }

    private let faults = Mutex<[SystemCalls.Name: Fault]>([:])

    var system: SystemCalls {
        SystemCalls { [self] call, path in
            guard let fault = faults.withLock({ $0[call] }), fault.isMeant(path) else { return nil }
            return fault.number
        }
    }

    func fail(
        _ call: SystemCalls.Name,
        with number: CInt,
        where isMeant: @escaping @Sendable (_ path: String) -> Bool = { _ in true }
    ) {
        faults.withLock { $0[call] = Fault(number: number, isMeant: isMeant) }
    }

    func stop() {
        faults.withLock { $0 = [:] }
    }
}
