// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization

/// Where any number of faulty stores keep their values together.
///
/// Locks are taken in the order writer, memory, place, store.
final class FaultyPlace: StoreObserver {
    private struct State {
        var stores: [Member] = []
        var committer: FaultyStore?
        var deliveries: [StoreDelivery] = []
        var firstHalf: [StoreChange]?
        var commitsUnderWay = 0
    }

    private struct Member {
        weak var store: FaultyStore?
    }

    let memory = InMemoryStore()
    let writer = NSLock()

    private let state = Mutex(State())
    private let recorded = DispatchSemaphore(value: 0)
    private let read = DispatchSemaphore(value: 0)

    init() {
        memory.setObserver(self)
    }

    func add(_ store: FaultyStore) {
        state.withLock { $0.stores.append(Member(store: store)) }
    }

    // MARK: - Committing

    /// Runs a body while it is known that a commit is under way, and then wakes those who wait.
    func whileCommitting<Result>(_ body: () throws -> Result) rethrows -> Result {
        state.withLock { $0.commitsUnderWay += 1 }
        defer {
            let deliveries = state.withLock { state in
                defer { state.deliveries = [] }
                state.commitsUnderWay -= 1
                return state.deliveries
            }
            for delivery in deliveries {
                delivery.perform()
            }
        }
        return try body()
    }

    /// Makes changes in one go, or those of several keys in two.
    func apply(_ changes: [StoreChange], by store: FaultyStore, inTwo isTorn: Bool) throws {
        guard isTorn, changes.count > 1 else { return try apply(changes, by: store) }
        state.withLock { $0.firstHalf = [] }
        try apply(Array(changes.prefix(1)), by: store)
        letRead()
        try apply(Array(changes.dropFirst()), by: store)
    }

    private func apply(_ changes: [StoreChange], by store: FaultyStore) throws {
        try memory.commit { transaction in
            state.withLock { $0.committer = store }
            for change in changes {
                transaction[change.key] = change.new
            }
        }
    }

    func record(_ commit: StoreCommit) -> StoreDelivery {
        let (changes, committer, stores) = state.withLock { state in
            if state.firstHalf?.isEmpty ?? false {
                state.firstHalf = commit.changes
                return ([StoreChange](), state.committer, [FaultyStore]())
            }
            defer { state.firstHalf = nil }
            return ((state.firstHalf ?? []) + commit.changes, state.committer, state.stores.compactMap(\.store))
        }
        for store in stores {
            let delivery = store.hear(changes, origin: store === committer ? .local : .external)
            state.withLock { $0.deliveries.append(delivery) }
        }
        recorded.signal()
        return .none
    }

    func report(_ error: SettingsError) {}

    // MARK: - Meeting

    func noteRead() {
        read.signal()
    }

    /// Lets somebody read, if there is anybody.
    private func letRead() {
        while read.wait(timeout: .now()) == .success {}
        // A read that was on its way already may have come too early to see anything.
        for _ in 0..<2 {
            _ = read.wait(timeout: .now() + .milliseconds(20))
        }
    }

    /// Lets a commit come in that is on its way.
    func waitForCommit() {
        guard state.withLock({ $0.commitsUnderWay > 0 }) else { return }
        let version = memory.version()
        let deadline = DispatchTime.now() + .milliseconds(100)
        while memory.version() == version, recorded.wait(timeout: deadline) == .success {}
    }
}
