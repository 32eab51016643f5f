// SPDX-License-Identifier: Apache-2.0

/// The store of a suite that has no place to store values.
///
/// It remains empty, and every commit throws.
///
/// The engine holds assigned values as pending writes and never retries them.
final class UnavailableStore: LimitedStore {
    /// The engine reads these values, and invalidates this version when they change.
    let sharedVersion: StoreVersion? = StoreVersion()
    private let cause: SettingsError

    /// Creates a store for values that cannot be stored.
    ///
    /// - Parameter cause: The error that explains why there is no place. Every error of the store has its fact, its fix
    ///   and its location.
    init(because cause: SettingsError) {
        self.cause = cause
    }

    /// The error to report when a suite with this store is opened.
    var notice: SettingsError {
        error("assigned values last until the process ends, and every set, update or transaction fails")
    }

    var persistence: SettingsPersistence { .ephemeral(reason: cause.fact) }

    func setObserver(_ observer: any StoreObserver) {}

    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result { body(nil) }

    func contents() -> [String: StoredValue] { [:] }

    func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        throw error("nothing is changed")
    }

    func synchronize() throws {
        throw error("nothing is stored, and assigned values are lost when the process ends")
    }

    func checkpoint() throws {
        try synchronize()
    }

    private func error(_ consequence: String) -> SettingsError {
        var error = cause
        (error.code, error.consequence) = (.locationUnavailable, consequence)
        return error
    }
}
