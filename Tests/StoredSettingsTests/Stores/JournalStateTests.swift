// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

/// What a store knows of its journal, and of one that was lost.
@Suite("What is known of a journal")
struct JournalStateTests {
    private static let front = UInt32(JournalHeader.size)

    /// Three keys whose records end one behind another.
    private func state() -> JournalState {
        var state = JournalState()
        state.position = JournalPosition(epoch: 7, end: Self.front + 192)
        state.journaled = ["a": Self.front + 64, "b": Self.front + 128, "c": Self.front + 192]
        return state
    }

    @Test("a record that ends where a checkpoint has stopped is in the file")
    func dropCheckpointed() {
        var state = state()
        state.dropCheckpointed(upTo: Self.front + 128)
        #expect(state.journaled == ["c": Self.front + 192])
    }

    @Test("positions are compared across the end of the epochs' numbers")
    func order() {
        func position(_ epoch: UInt32, _ end: UInt32 = 64) -> JournalPosition {
            JournalPosition(epoch: epoch, end: end)
        }
        let ascending = [
            position(0), position(.max - 1), position(.max), position(.max, 72), position(1), position(2),
        ]
        for (index, one) in ascending.enumerated() {
            for (otherIndex, other) in ascending.enumerated() {
                #expect(one.isAfter(other) == (index > otherIndex), "\(one) and \(other)")
            }
        }
    }

    @Test("an epoch is followed by one that begins where it was read to, with what the file lacks")
    func goOn() {
        var (state, next) = (state(), JournalEpoch.first(endingAt: Self.front + 40))
        (next.epoch, next.previousEnd, next.previousCheckpointed) = (8, Self.front + 192, Self.front + 128)
        #expect(state.continues(into: next))
        for end in [0, Self.front + 128, Self.front + 200] {
            var other = next
            other.previousEnd = end
            #expect(!state.continues(into: other))
        }
        var (last, first) = (state, next)
        (last.position.epoch, first.epoch) = (.max, 1)
        #expect(last.continues(into: first), "0 is no epoch")
        state.enterNext(next)
        #expect(state.journaled == ["c": Self.front + 40])
        #expect(state.position == JournalPosition(epoch: 8, end: Self.front + 40))
    }

    @Test("an epoch of a process that did not know the last records lacks only those that are not in the file")
    func strand() {
        var (state, next) = (state(), JournalEpoch.first())
        (next.epoch, next.previousEnd, next.previousCheckpointed) = (8, 0, Self.front + 64)
        state.strand(by: next) { _ in 1 }
        #expect(state.stranded?.values == ["b": 1, "c": 1])
    }
}
