// SPDX-License-Identifier: Apache-2.0

/// Where a suite keeps its values.
///
/// A store holds stored values under keys and knows nothing of types, defaults or layers. Everything above it (caches,
/// streams, retries, reports) is the same for every store, and rests on this contract:
///
/// - **Reads never fail and never wait for a writer's body.** What cannot be read is reported, and the newest contents
///   that could be read are served.
/// - **A commit is atomic and exclusive.** ``commit(_:)`` runs its body alone among all writers, of all processes that
///   share the store, on the newest contents. Either all its changes are kept, or it throws and nothing has changed.
///   When it returns, the changes survive the death of the process as far as ``persistence`` says. It throws before the
///   body runs when the newest contents cannot be read: a change must not be based on older values, or on defaults.
/// - **A blind write needs no reading.** ``write(_:)`` is as atomic as a commit. Its outcome depends on nothing that is
///   stored, so that it can be kept while the contents cannot be read.
/// - **The version tells of change.** ``version()`` gives another number after every change that a later read can
///   see, whoever made it.
/// - **Changes are told in order.** Every change that reads can see is recorded with the ``StoreObserver``: in order, one
///   record per commit, with no read between a change and its record able to see both. A store with a lock records
///   under it, and performs the ``StoreDelivery`` that it gets back after letting go of it.
/// - **Equal values are no change.** A commit that leaves every value as it was writes nothing, records nothing and
///   leaves the version as it was.
///
/// The contract is tested by `StoredSettingsTesting`.
public protocol SettingsStore: AnyObject, Sendable {
    /// How long what is committed lasts.
    var persistence: SettingsPersistence { get }

    /// Why what is read are not the newest contents of the place but the last good ones; `nil` when all is well.
    var problem: SettingsError? { get }

    /// Sets the observer that hears of every change from now on, in place of any other.
    ///
    /// It is set before any other call, and again, perhaps to the same one, whenever a suite over the store is made. The
    /// store does not keep it alive.
    func setObserver(_ observer: any StoreObserver)

    /// A number that is another one whenever a read may give another value than before.
    ///
    /// Asked before every read, so it is cheap.
    func version() -> UInt64

    /// Reads a value, and runs a body before any later change can be recorded.
    ///
    /// The body is the library's own: it is short, calls back into no store, and runs no user code.
    ///
    /// - Parameters:
    ///   - key: The key to read.
    ///   - body: What to do with the value.
    /// - Returns: What the body returns.
    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result

    /// What serves under a key while nothing is stored there, before the default of the declaration.
    ///
    /// For stores over something that has defaults of its own. They are not stored: no key has a value for them. A change
    /// of one need not be told, but changes ``version()``. Called under no lock but that of a commit, by its body.
    ///
    /// - Parameter key: The key to read.
    /// - Returns: The value; `nil` where the store has none.
    func fallback(forKey key: String) -> StoredValue?

    /// All values that are stored, as of one moment.
    func contents() -> [String: StoredValue]

    /// Runs a body alone among all writers, on the newest contents, and keeps the changes it makes, all or none.
    ///
    /// - Parameter body: Reads and changes the contents. What it throws is thrown on, and nothing is changed.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, or ``SettingsError`` when the changes cannot be kept.
    func commit<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result

    /// Stores what a body sets, all or nothing, whatever is stored now.
    ///
    /// A *blind write*: its outcome depends on nothing that is stored. So a store can keep it while its contents cannot be
    /// read, where ``commit(_:)`` throws. Otherwise it is the same as ``commit(_:)``.
    ///
    /// - Parameter body: Sets values and removes others. It bases nothing on the values there are. It is the library's own
    ///   and calls back into no store.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, or ``SettingsError`` when the changes cannot be kept; then nothing has changed.
    func write<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result

    /// Returns once everything committed so far survives a loss of power.
    ///
    /// - Throws: ``SettingsError`` when that cannot be had.
    func synchronize() throws

    /// Returns once everything committed so far is where people look for it, for stores that bring it there later.
    ///
    /// - Throws: ``SettingsError`` when it cannot be brought there.
    func checkpoint() throws

    /// Begins to notice what other processes change without being asked to read.
    ///
    /// Called with every stream and observation, so more than once.
    func watch()

    /// Lets go of files and watches.
    ///
    /// No commit begins afterwards. Reads may follow, and give what was read last; so may another call of this.
    func close()
}

extension SettingsStore {
    /// The value that is stored under a key.
    public func value(forKey key: String) -> StoredValue? {
        withValue(forKey: key) { $0 }
    }

    /// Commits what the body sets: for stores whose contents can always be read.
    public func write<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        try commit(body)
    }

    /// None: for stores without defaults of their own.
    public func fallback(forKey key: String) -> StoredValue? { nil }

    /// None: for stores whose contents cannot be out of reach.
    public var problem: SettingsError? { nil }

    /// Does nothing: for stores whose commits are at once where they stay.
    public func checkpoint() {}

    /// Does nothing: for stores that nobody else can change.
    public func watch() {}

    /// Does nothing: for stores with nothing to let go of.
    public func close() {}
}

/// How long what is stored in a suite lasts.
public enum SettingsPersistence: Sendable, Hashable {
    /// Values are kept in this file and outlive the process.
    case durable(path: String)
    /// Values are read from this file and cannot be changed, for this reason. What is assigned lasts as long as the
    /// process.
    case readOnly(path: String, reason: String)
    /// Values last as long as the process, for this reason.
    case ephemeral(reason: String)
}

extension SettingsPersistence: CustomStringConvertible {
    /// The persistence in words.
    public var description: String {
        switch self {
        case .durable(let path): "kept in \(path)"
        case .readOnly(let path, let reason): "read from \(path), not to be changed: \(reason)"
        case .ephemeral(let reason): "kept in memory: \(reason)"
        }
    }
}
