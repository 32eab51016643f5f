// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization

/// The storage that any number of faulty stores share.
///
/// Locks are acquired in the order writer, memory, storage, store.
final class FaultyStorage: StoreObserver {
    private struct State {
        var stores: [Member] = []
        var committer: FaultyStore?
        var deliveries: [StoreDelivery] = []
        var firstHalf: [StoreChange]?
        var commitsInProgress = 0
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

    /// Runs a body that commits, and then delivers its changes to the subscribers.
    func committing<Result>(_ body: () throws -> Result) rethrows -> Result {
        state.withLock { $0.commitsInProgress += 1 }
        defer {
            let deliveries = state.withLock { state in
                defer { state.deliveries = [] }
                state.commitsInProgress -= 1
                return state.deliveries
            }
            for delivery in deliveries {
                delivery.perform()
            }
        }
        return try body()
    }

    /// Applies the changes in one commit, or in two when there are several and the commit is torn.
    func apply(_ changes: [StoreChange], by store: FaultyStore, inTwo isTorn: Bool) throws {
        guard isTorn, changes.count > 1 else { return try apply(changes, by: store) }
        state.withLock { $0.firstHalf = [] }
        try apply(Array(changes.prefix(1)), by: store)
        waitForRead()
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
            let delivery = store.receive(changes, origin: store === committer ? .local : .external)
            state.withLock { $0.deliveries.append(delivery) }
        }
        recorded.signal()
        return .none
    }

    func report(_ error: SettingsError) {}

    // MARK: - Synchronizing threads

    func noteRead() {
        read.signal()
    }

    private func waitForRead() {
        while read.wait(timeout: .now()) == .success {}
        // The first read may have started too early to see the first half.
        for _ in 0..<2 {
            _ = read.wait(timeout: .now() + .milliseconds(20))
        }
    }

    func waitForCommit() {
        guard state.withLock({ $0.commitsInProgress > 0 }) else { return }
        guard let shared = memory.sharedVersion else { return }
        let version = shared.version
        let deadline = DispatchTime.now() + .milliseconds(100)
        while shared.isCurrent(version), recorded.wait(timeout: deadline) == .success {}
    }
}
