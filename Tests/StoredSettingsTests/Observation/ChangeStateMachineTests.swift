// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StoredSettings

/// Tests the state machine without tasks or clocks: a continuation is a number here.
@Suite("ChangeStateMachine")
struct ChangeStateMachineTests {
    private typealias Machine = ChangeStateMachine<StoredValueChange, Int>

    private func change(_ old: StoredValue?, _ new: StoredValue?, _ origin: SettingChangeOrigin = .local)
        -> StoredValueChange
    {
        StoredValueChange(old: old, new: new, origin: origin)
    }

    @Test("a change that is offered between an offer and its wake is delivered with it")
    func absorbingBeforeWake() {
        var machine = Machine()
        #expect(machine.next(7) == .none)
        #expect(machine.offer(change(1, 2)) == true)
        #expect(machine.offer(change(2, 3)) == true)
        #expect(machine.wake() == .resume(7, with: change(1, 3)))
        #expect(machine.wake() == .none)
    }

    @Test("a change that is undone between an offer and its wake wakes no consumer")
    func undoingBeforeWake() {
        var machine = Machine()
        #expect(machine.next(7) == .none)
        #expect(machine.offer(change(1, 2)) == true)
        #expect(machine.offer(change(2, 1)) == true)
        #expect(machine.wake() == .none)
        #expect(machine.offer(change(1, 3)) == true)
        #expect(machine.wake() == .resume(7, with: change(1, 3)))
    }

    @Test("finishing between an offer and its wake does not lose the change")
    func finishingWhileReady() {
        var machine = Machine()
        #expect(machine.next(7) == .none)
        #expect(machine.offer(change(1, 2)) == true)
        #expect(machine.finish() == .resume(7, with: change(1, 2)))
        #expect(machine.wake() == .none)
        #expect(machine.next(8) == .resume(8, with: nil))
    }

    @Test("finishing ends the consumer, after a last change")
    func finishing() {
        var machine = Machine()
        #expect(machine.offer(change(1, 2)) == false)
        #expect(machine.finish() == .none)
        #expect(machine.next(7) == .resume(7, with: change(1, 2)))
        #expect(machine.next(7) == .resume(7, with: nil))
    }

    @Test("cancellation ends the machine at once and drops a pending change")
    func cancellation() {
        var buffered = Machine()
        _ = buffered.offer(change(1, 2))
        #expect(buffered.cancel() == .none)
        #expect(buffered.next(8) == .resume(8, with: nil))

        var ready = Machine()
        _ = ready.next(7)
        _ = ready.offer(change(1, 2))
        #expect(ready.cancel() == .resume(7, with: nil))
        #expect(ready.wake() == .none)
        #expect(ready.offer(change(2, 3)) == false)
    }

    @Test("a second consumer ends at once and does not disturb the first")
    func secondConsumer() {
        var machine = Machine()
        #expect(machine.next(7) == .none)
        #expect(machine.next(8) == .resume(8, with: nil))
        _ = machine.offer(change(1, 2))
        #expect(machine.wake() == .resume(7, with: change(1, 2)))
    }

    @Test("changes of several keys are merged key by key, without those that are undone")
    func suiteChanges() {
        var machine = ChangeStateMachine<SettingsSuite.Change, Int>()
        func offer(_ changes: StoreChange..., origin: SettingChangeOrigin = .local) {
            _ = machine.offer(SettingsSuite.Change(StoreCommit(changes: changes, origin: origin), keys: nil))
        }
        offer(StoreChange(key: "a", old: 1, new: 2), StoreChange(key: "b", old: nil, new: 1))
        offer(StoreChange(key: "b", old: 1, new: nil))
        offer(StoreChange(key: "a", old: 2, new: 3), StoreChange(key: "c", old: 7, new: 8), origin: .external)
        let expected = SettingsSuite.Change(
            changes: [
                "a": SettingChange(old: 1, new: 3, origin: .external),
                "c": SettingChange(old: 7, new: 8, origin: .external),
            ],
            origin: .external
        )
        #expect(machine.next(7) == .resume(7, with: expected))
    }
}
