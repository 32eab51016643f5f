// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting

extension FaultyStore {
    /// What a store can do wrong.
    enum Defect: CaseIterable {
        case lateContents
        case dottedKeys
        case wholeSeconds
        case integersThroughDouble
        case nullForRemoved
        case writesOneByOne
        case keepsUnfinished
        case recordsUnfinished
        case recordsNothing
        case tornCommits
        case noExclusion
        case recordsInDisorder
        case readsWait
        case flippingVersion
        case restlessVersion
        case recordsInPieces
        case recordsNoOld
        case recordsAsExternal
        case gapAfterRead
        case noDelivery
        case deliversUnderLock
        case keepsObserver
        case cannotSynchronize
        case forgetsAtClose
        case forgetsBeforeOpening
        case noSharedExclusion
        case readsOwnCommitsOnly
        case countsOwnCommitsOnly
        case recordsOwnCommitsOnly
        case recordsOthersAsLocal
        case recordsOthersWhenRead

        /// The clauses that a store with this readFailure breaks.
        var clauses: Set<SettingsStoreContract.Clause> {
            switch self {
            case .lateContents: [.reads, .blindWrites]
            case .dottedKeys: [.keys]
            case .wholeSeconds: [.values]
            case .integersThroughDouble: [.integers]
            case .nullForRemoved: [.removal, .blindWrites]
            case .writesOneByOne: [.blindWrites]
            // What is kept is a change.
            case .keepsUnfinished: [.throwing, .steadyVersion]
            case .recordsUnfinished: [.throwing]
            case .recordsNothing: [.equalValues]
            case .tornCommits: [.wholeness]
            // Stores that share a place have several threads, too.
            case .noExclusion: [.exclusion, .sharedExclusion]
            case .recordsInDisorder: [.exclusion]
            case .readsWait: [.freeReads]
            case .flippingVersion: [.changingVersion]
            case .restlessVersion: [.steadyVersion]
            case .recordsInPieces: [.records, .blindWrites]
            // The order of records is seen by their old values, and so is what was removed.
            case .recordsNoOld: [.records, .removal, .exclusion, .blindWrites]
            // What is external is told to those who wait by another thread, and later.
            case .recordsAsExternal: [.records, .removal, .delivery, .blindWrites]
            case .gapAfterRead: [.subscription]
            case .noDelivery, .deliversUnderLock: [.delivery]
            case .keepsObserver: [.observerLifetime]
            case .cannotSynchronize: [.synchronizing]
            case .forgetsAtClose: [.closing]
            case .forgetsBeforeOpening: [.reopening]
            case .noSharedExclusion: [.sharedExclusion]
            case .readsOwnCommitsOnly, .countsOwnCommitsOnly: [.externalReads]
            // A watch is there for the records alone.
            case .recordsOwnCommitsOnly, .recordsOthersAsLocal: [.externalRecords, .watching]
            case .recordsOthersWhenRead: [.watching]
            }
        }

        /// Whether it takes threads to meet in time, which they may fail to do on a busy machine.
        var isRace: Bool {
            [.tornCommits, .noExclusion, .noSharedExclusion, .gapAfterRead].contains(self)
        }

        /// Whether it is seen by waiting in vain.
        var isWaitedFor: Bool {
            switch self {
            case .readsWait, .deliversUnderLock, .recordsOwnCommitsOnly, .recordsOthersAsLocal, .recordsOthersWhenRead:
                true
            default: false
            }
        }
    }
}
