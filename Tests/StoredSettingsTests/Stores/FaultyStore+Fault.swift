// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting

extension FaultyStore {
    /// A way in which a store violates the contract.
    enum Fault: CaseIterable {
        case lateContents
        case dottedKeys
        case wholeSeconds
        case integersThroughDouble
        case nullForRemoved
        case writesOneByOne
        case commitsUnfinished
        case recordsUnfinished
        case recordsNothing
        case tornCommits
        case noExclusion
        case recordsOutOfOrder
        case readsWait
        case outdatedSharedVersion
        case changingVersionWithoutChange
        case recordsInPieces
        case recordsNoOldValues
        case recordsAsExternal
        case gapAfterRead
        case noDelivery
        case deliversUnderLock
        case retainsObserver
        case cannotSynchronize
        case forgetsAtClose
        case forgetsBeforeOpening
        case noSharedExclusion
        case readsOwnCommitsOnly
        case countsOwnCommitsOnly
        case recordsOwnCommitsOnly
        case recordsOthersAsLocal
        case recordsOthersWhenRead

        /// The clauses that a store with this fault violates.
        var clauses: Set<SettingsStoreContract.Clause> {
            switch self {
            case .lateContents: [.reads, .blindWrites]
            case .dottedKeys: [.keys]
            case .wholeSeconds: [.values]
            case .integersThroughDouble: [.integers]
            case .nullForRemoved: [.removal, .blindWrites]
            case .writesOneByOne: [.blindWrites]
            // The unfinished transaction is a change.
            case .commitsUnfinished: [.throwing, .steadyVersion]
            case .recordsUnfinished: [.throwing]
            case .recordsNothing: [.equalValues]
            case .tornCommits: [.wholeness]
            // Stores that share storage also have several threads.
            case .noExclusion: [.exclusion, .sharedExclusion]
            case .recordsOutOfOrder: [.exclusion]
            case .readsWait: [.freeReads]
            // Stores that share storage hand out such versions as well.
            case .outdatedSharedVersion: [.changingVersion, .externalReads]
            case .changingVersionWithoutChange: [.steadyVersion]
            case .recordsInPieces: [.records, .blindWrites]
            // The order of records, and a removal, are only visible in the old values.
            case .recordsNoOldValues: [.records, .removal, .exclusion, .blindWrites]
            // An external change is delivered later, by another thread.
            case .recordsAsExternal: [.records, .removal, .delivery, .blindWrites]
            case .gapAfterRead: [.subscription]
            case .noDelivery, .deliversUnderLock: [.delivery]
            case .retainsObserver: [.observerLifetime]
            case .cannotSynchronize: [.synchronizing]
            case .forgetsAtClose: [.closing]
            case .forgetsBeforeOpening: [.reopening]
            case .noSharedExclusion: [.sharedExclusion]
            case .readsOwnCommitsOnly, .countsOwnCommitsOnly: [.externalReads]
            // A watch exists only for its records.
            case .recordsOwnCommitsOnly, .recordsOthersAsLocal: [.externalRecords, .watching]
            case .recordsOthersWhenRead: [.watching]
            }
        }

        /// Whether the violation is a race between threads, which may not occur on a busy machine.
        var isRace: Bool {
            [.tornCommits, .noExclusion, .noSharedExclusion, .gapAfterRead].contains(self)
        }

        /// Whether the violation is detected by a timeout.
        var isTimeout: Bool {
            switch self {
            case .readsWait, .deliversUnderLock, .recordsOwnCommitsOnly, .recordsOthersAsLocal, .recordsOthersWhenRead:
                true
            default: false
            }
        }
    }
}
