// SPDX-License-Identifier: Apache-2.0

import Dispatch
public import StoredSettings
import Synchronization

/// What every store must keep to, as checks that any test framework can run.
///
/// The promises are those of `SettingsStore` and `StoreObserver`. Each is a ``Clause``, which is checked on stores of its
/// own and gives the violations that it finds, in words. With Swift Testing, a clause is one case of a test:
///
/// ```swift
/// import StoredSettingsTesting
/// import Testing
///
/// @Suite struct RedisStoreTests {
///     static let contract = SettingsStoreContract(
///         named: "RedisStore",
///         makeStore: { RedisStore(table: UUID().uuidString) },
///         reopen: { RedisStore(table: $0.table) }
///     )
///
///     @Test(arguments: contract.clauses)
///     func keeps(_ clause: SettingsStoreContract.Clause) async {
///         let violations = await Self.contract.violations(of: clause)
///         #expect(violations == [])
///     }
/// }
/// ```
///
/// With another framework, assert that ``violations()`` gives none.
///
/// A clause needs some milliseconds and about a hundred commits at the most. Stores are given to it on threads of its own,
/// and are closed when it is done with them; where the things they leave behind have to be removed, do it after the last
/// clause.
public struct SettingsStoreContract: Sendable {
    /// What the violations call the store.
    public let name: String

    let patience: Duration
    let open: @Sendable () throws -> OpenStore

    private let canReopen: Bool
    private let exceptions: Set<Clause>

    /// Creates the contract for a kind of store.
    ///
    /// - Parameters:
    ///   - name: What to call the store.
    ///   - patience: How long to wait, at each time, for what has to come soon. Only a store that fails takes so long.
    ///   - makeStore: Makes a store that is empty, shares its contents with no other, and has no observer.
    ///   - reopen: Makes another store over the place where the first one keeps its values, as another process would do;
    ///     the first one goes on. Leave it out where a store's values end with it: ``clauses`` are then those that need
    ///     no second store.
    ///   - exceptions: Clauses that the store is known not to keep, and its documentation says so. ``clauses`` are then
    ///     the others.
    public init<Store: SettingsStore>(
        named name: String,
        patience: Duration = .seconds(10),
        makeStore: @escaping @Sendable () throws -> Store,
        reopen: (@Sendable (Store) throws -> Store)? = nil,
        except exceptions: Set<Clause> = []
    ) {
        self.name = name
        self.patience = patience
        canReopen = reopen != nil
        self.exceptions = exceptions
        open = {
            let store = try makeStore()
            return OpenStore(store: store) { try reopen?(store) }
        }
    }

    /// The clauses that bind this store, in the order in which they are best mended.
    public var clauses: [Clause] {
        Clause.all.filter { (canReopen || !$0.needsReopening) && !exceptions.contains($0) }
    }

    /// Checks one clause.
    ///
    /// - Parameter clause: The clause, on new stores each time.
    /// - Returns: What the store has done against it; empty when it keeps the clause.
    public func violations(of clause: Clause) async -> [String] {
        let trial = Trial(of: self)
        return await withCheckedContinuation { continuation in
            // The clause may block, and so may the store, so neither is given a thread of the tasks'.
            DispatchQueue(label: "StoredSettingsTesting.contract")
                .async {
                    continuation.resume(returning: trial.violations(of: clause))
                }
        }
    }

    /// Checks every clause, one after the other.
    ///
    /// - Returns: What the store has done against them, each beginning with its name and the clause's.
    public func violations() async -> [String] {
        var violations: [String] = []
        for clause in clauses {
            violations += await self.violations(of: clause).map { "\(name), \(clause.name): \($0)" }
        }
        return violations
    }
}

extension SettingsStoreContract {
    /// A promise that every store gives.
    public struct Clause: Sendable {
        /// A word or two that tell it from the others.
        public let name: String

        /// What is promised.
        public let sentence: String

        /// Whether it takes a second store over the same place to check it.
        public let needsReopening: Bool

        let check: @Sendable (Trial) throws -> Void

        init(
            _ name: String,
            _ sentence: String,
            needsReopening: Bool = false,
            check: @escaping @Sendable (Trial) throws -> Void
        ) {
            self.name = name
            self.sentence = sentence
            self.needsReopening = needsReopening
            self.check = check
        }
    }

    /// A store, and the way to open another over its place.
    struct OpenStore: Sendable {
        var store: any SettingsStore
        var reopen: @Sendable () throws -> (any SettingsStore)?
    }
}

extension SettingsStoreContract.Clause: Hashable {
    /// Whether both are the same promise.
    public static func == (left: Self, right: Self) -> Bool {
        left.name == right.name
    }

    /// Feeds the name to the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
    }
}

extension SettingsStoreContract.Clause: CustomStringConvertible {
    /// The promise in a sentence.
    public var description: String { sentence }
}

extension SettingsStoreContract.Clause {
    /// Every clause there is.
    public static let all: [Self] = [
        .reads, .keys, .values, .integers, .removal,
        .throwing, .blindWrites, .equalValues, .wholeness, .exclusion, .freeReads,
        .changingVersion, .steadyVersion,
        .records, .subscription, .delivery, .observerLifetime,
        .synchronizing, .closing,
        .reopening, .sharedExclusion, .externalReads, .externalRecords, .watching,
    ]
}
