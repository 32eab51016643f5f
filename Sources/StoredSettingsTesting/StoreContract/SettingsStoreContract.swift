// SPDX-License-Identifier: Apache-2.0

import Dispatch
public import StoredSettings
import Synchronization

/// The contract of every store, as checks that any test framework can run.
///
/// The requirements are those of `SettingsStore` and `StoreObserver`. Each ``Clause`` is checked with stores of its
/// own, and returns its violations as strings. With Swift Testing, a clause is one case of a test:
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
///     func fulfills(_ clause: SettingsStoreContract.Clause) async {
///         let violations = await Self.contract.violations(of: clause)
///         #expect(violations == [])
///     }
/// }
/// ```
///
/// With another framework, assert that ``violations()`` is empty.
///
/// A clause takes some milliseconds and about a hundred commits at most. The stores are created on background threads
/// and closed at the end of the clause. Remove the files or tables of the stores, if any, after the last clause.
public struct SettingsStoreContract: Sendable {
    /// The name of the store in violations.
    public let name: String

    let timeout: Duration
    let open: @Sendable () throws -> OpenStore

    private let canReopen: Bool
    private let exceptions: Set<Clause>

    /// Creates the contract for a kind of store.
    ///
    /// - Parameters:
    ///   - name: The name of the store in violations.
    ///   - timeout: How long to wait for each expected event. Only a store that fails takes that long.
    ///   - makeStore: Creates an empty store, which shares its contents with no other store and has no observer.
    ///   - reopen: Creates another store over the same place, as another process would, while the first store stays open.
    ///     Omit it if the values end with the store; ``clauses`` then excludes those that need a second store.
    ///   - exceptions: Clauses that the store violates according to its documentation. ``clauses`` excludes them.
    public init<Store: SettingsStore>(
        named name: String,
        timeout: Duration = .seconds(10),
        makeStore: @escaping @Sendable () throws -> Store,
        reopen: (@Sendable (Store) throws -> Store)? = nil,
        except exceptions: Set<Clause> = []
    ) {
        self.name = name
        self.timeout = timeout
        canReopen = reopen != nil
        self.exceptions = exceptions
        open = {
            let store = try makeStore()
            return OpenStore(store: store) { try reopen?(store) }
        }
    }

    /// The clauses that apply to this store.
    ///
    /// Fix violations in this order.
    public var clauses: [Clause] {
        Clause.all.filter { (canReopen || !$0.needsReopening) && !exceptions.contains($0) }
    }

    /// Checks one clause.
    ///
    /// - Parameter clause: The clause, which is checked with new stores each time.
    /// - Returns: The violations; empty if the store fulfills the clause.
    public func violations(of clause: Clause) async -> [String] {
        let trial = Trial(of: self)
        return await withCheckedContinuation { continuation in
            // The clause and the store may block, so they do not run on a thread of Swift concurrency.
            DispatchQueue(label: "StoredSettingsTesting.contract")
                .async {
                    continuation.resume(returning: trial.violations(of: clause))
                }
        }
    }

    /// Checks every clause, one after the other.
    ///
    /// - Returns: The violations, each prefixed with the names of the store and the clause.
    public func violations() async -> [String] {
        var violations: [String] = []
        for clause in clauses {
            violations += await self.violations(of: clause).map { "\(name), \(clause.name): \($0)" }
        }
        return violations
    }
}

extension SettingsStoreContract {
    /// A requirement for every store.
    public struct Clause: Sendable {
        /// A short name that identifies the clause.
        public let name: String

        /// The requirement, in a sentence.
        public let sentence: String

        /// Whether the check needs a second store over the same place.
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

    /// A store, and a function that opens another store over its place.
    struct OpenStore: Sendable {
        var store: any SettingsStore
        var reopen: @Sendable () throws -> (any SettingsStore)?
    }
}

extension SettingsStoreContract.Clause: Hashable {
    /// Whether both are the same clause.
    public static func == (left: Self, right: Self) -> Bool {
        left.name == right.name
    }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
    }
}

extension SettingsStoreContract.Clause: CustomStringConvertible {
    /// The requirement in a sentence.
    public var description: String { sentence }
}

extension SettingsStoreContract.Clause {
    /// All clauses.
    public static let all: [Self] = [
        .reads, .keys, .values, .integers, .removal,
        .throwing, .blindWrites, .equalValues, .wholeness, .exclusion, .freeReads,
        .changingVersion, .steadyVersion,
        .records, .subscription, .delivery, .observerLifetime,
        .synchronizing, .closing,
        .reopening, .sharedExclusion, .externalReads, .externalRecords, .watching,
    ]
}
