// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// One of the processes that load the store.
struct LoadProcess {
    private let child: Child
    private let claims: Claims
    private let number: Int
    private let seed: UInt64
    /// The number of earlier processes with this number.
    private let incarnation: Int

    init(_ child: Child, claims: Claims) throws {
        guard child.numbers.count == 3 else { throw UsageError("\(Child.flag) is for internal use") }
        (self.child, self.claims) = (child, claims)
        (number, seed, incarnation) = (child.numbers[0], UInt64(child.numbers[1]), child.numbers[2])
    }

    func run() {
        let history = History(ledger: child.ledger, findings: child.findings)
        let isResident = number < LoadPlan.residents
        let watchers = isResident ? Watchers(process: number, of: child.suite, history) : nil
        watchers?.start()
        child.ledger[.process, number, LoadPlan.State.begun].value = 1
        let finishes = Finishes()
        child.runThreads(LoadPlan.threads) { thread in
            let visit = Visit(child, finishes)
            let writer = LoadPlan.writer(process: number, thread: thread)
            var load = LoadThread(
                writer: writer,
                child: child,
                history: History(ledger: child.ledger, findings: child.findings) { visit.isOver },
                claims: claims,
                visit: visit,
                isResident: isResident,
                random: SeededRandom(seed: seed, stream: incarnation * LoadPlan.writers + writer + 1)
            )
            load.run()
        }
        child.ledger[.process, number, LoadPlan.State.isIdle].value = 1
        child.wait { child.ledger[.run, 0].value >= LoadPlan.Phase.ending.rawValue }
        watchers?.stop()
    }
}
