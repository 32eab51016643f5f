// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Synchronization

extension FaultyStore {
    /// Takes notice of changes, under the lock of the place.
    func hear(_ changes: [StoreChange], origin: SettingChangeOrigin) -> StoreDelivery {
        guard origin == .local else { return hearOther(changes) }
        state.withLock { state in
            state.ownCommits += 1
            for change in changes {
                state.ownContents[change.key] = change.new
            }
        }
        switch readFailure {
        case .recordsInPieces:
            return changes.map { observe([$0], .local) }.last ?? .none
        case .recordsNoOld:
            return observe(changes.map { StoreChange(key: $0.key, old: nil, new: $0.new) }, .local)
        case .recordsAsExternal:
            return observe(changes, .external)
        case .recordsInDisorder where changes == [StoreChange(key: "count", old: 2, new: 3)]:
            state.withLock { $0.postponed = [StoreCommit(changes: changes, origin: .local)] }
            return .none
        case .recordsInDisorder:
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

    private func hearOther(_ changes: [StoreChange]) -> StoreDelivery {
        switch readFailure {
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

    /// Tells the observer, if there is one.
    func observe(_ changes: [StoreChange], _ origin: SettingChangeOrigin) -> StoreDelivery {
        let observer = state.withLock { $0.observer }
        return observer?.record(StoreCommit(changes: changes, origin: origin)) ?? .none
    }
}
