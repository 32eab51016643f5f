// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Synchronization

extension FaultyStore {
    /// Records changes, under the lock of the storage.
    func receive(_ changes: [StoreChange], origin: SettingChangeOrigin) -> StoreDelivery {
        guard !changes.isEmpty else { return receiveNoChange(origin) }
        if fault != .outdatedSharedVersion, fault != .countsOwnCommitsOnly || origin == .local {
            ownVersion.invalidate()
        }
        guard origin == .local else { return receiveExternal(changes) }
        state.withLock { state in
            for change in changes {
                state.ownContents[change.key] = change.new
            }
        }
        switch fault {
        case .recordsInPieces:
            return changes.map { observe([$0], .local) }.last ?? .none
        case .recordsNoOldValues:
            return observe(changes.map { StoreChange(key: $0.key, old: nil, new: $0.new) }, .local)
        case .recordsAsExternal:
            return observe(changes, .external)
        case .recordsOutOfOrder where changes == [StoreChange(key: "count", old: 2, new: 3)]:
            state.withLock { $0.postponed = [StoreCommit(changes: changes, origin: .local)] }
            return .none
        case .recordsOutOfOrder:
            let delivery = observe(changes, .local)
            recordPostponed()
            return delivery
        case .noDelivery:
            _ = observe(changes, .local)
            return .none
        case .deliversUnderLock:
            observe(changes, .local).perform()
            return .none
        default:
            return observe(changes, .local)
        }
    }

    private func receiveNoChange(_ origin: SettingChangeOrigin) -> StoreDelivery {
        if fault == .changingVersionWithoutChange { ownVersion.invalidate() }
        return origin == .local && fault != .recordsNothing ? observe([], .local) : .none
    }

    private func receiveExternal(_ changes: [StoreChange]) -> StoreDelivery {
        switch fault {
        case .recordsOwnCommitsOnly: return .none
        case .recordsOthersAsLocal: return observe(changes, .local)
        case .recordsOthersWhenRead:
            state.withLock { $0.postponed.append(StoreCommit(changes: changes, origin: .external)) }
            return .none
        default: return observe(changes, .external)
        }
    }

    private func recordPostponed() {
        let commits = state.withLock { state in
            defer { state.postponed = [] }
            return state.postponed
        }
        for commit in commits {
            _ = observe(commit.changes, commit.origin)
        }
    }

    func observe(_ changes: [StoreChange], _ origin: SettingChangeOrigin) -> StoreDelivery {
        let observer = state.withLock { $0.observer }
        return observer?.record(StoreCommit(changes: changes, origin: origin)) ?? .none
    }
}
