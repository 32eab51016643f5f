// SPDX-License-Identifier: Apache-2.0

/// The store of a suite that has no place to store anything in: it stays empty, and every commit throws.
///
/// What is assigned stays with the engine as a pending write, which is never tried again.
final class UnavailableStore: VersionedStore {
    /// Values are read from the engine, which invalidates them here.
    let versionStamp = VersionStamp()
    private let cause: SettingsError

    /// Creates a store for values that cannot be stored.
    ///
    /// - Parameter cause: Why there is no place; its fact, its fix and its location are part of every error.
    init(because cause: SettingsError) {
        self.cause = cause
    }

    /// What to report when a suite over this store is opened.
    var notice: SettingsError {
        error("assigned values last only as long as the process, and every set, update or transaction fails")
    }

    var persistence: SettingsPersistence { .ephemeral(reason: cause.fact) }

    func setObserver(_ observer: any StoreObserver) {}

    func version() -> UInt64 { 1 }

    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result { body(nil) }

    func contents() -> [String: StoredValue] { [:] }

    func commit<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        throw error("nothing is changed")
    }

    func synchronize() throws {
        throw error("nothing is stored, and assigned values are lost when the process ends")
    }

    func checkpoint() throws {
        try synchronize()
    }

    private func error(_ consequence: String) -> SettingsError {
        SettingsError(
            .locationUnavailable,
            fact: cause.fact,
            consequence: consequence,
            remedy: cause.remedy,
            location: cause.location,
            underlying: cause.underlying
        )
    }
}
