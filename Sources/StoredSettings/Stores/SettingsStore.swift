// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "Unknown contents allow only blind writes".

/// The place where a suite stores its values.
///
/// A store maps keys to stored values. It knows nothing of types, defaults or layers. Caches, streams, retries and
/// reports are implemented once, above the store, and rely on this contract:
///
/// - **Reads do not fail.** A store that cannot read its current contents reports the error and returns the newest
///   contents that it could read. A read never waits for the body of a commit.
/// - **A commit is atomic and exclusive.** ``commit(isBlind:_:)`` runs its body on the newest contents. No other writer runs at
///   the same time, in any thread or process that uses the store. Either all changes of the body are stored, or the
///   commit throws and nothing has changed. After it returns, the changes survive the death of the process if
///   ``persistence`` is ``SettingsPersistence/durable(path:)``. If the newest contents cannot be read, the commit
///   throws before the body runs, because a change must not be based on older values or on defaults.
/// - **A blind commit does not depend on the stored values.** It is as atomic and exclusive as any other. Its result is the same
///   whatever is stored, so a store can accept it while the contents cannot be read.
/// - **The version shows changes.** Whenever a read could return a different value than before, ``sharedVersion`` was invalidated,
///   whichever process made the change.
/// - **Changes are recorded in order.** The store passes every visible change to its ``StoreObserver``, in order, one
///   record per commit. No read can occur between a change and its record. A store with a lock records while it holds
///   the lock, and performs the returned ``StoreDelivery`` after it has released the lock. It records its own commit on the thread
///   that makes it, before another one begins.
/// - **An equal value is not a change.** A commit that leaves every value as it was writes nothing and does not change the
///   version. It is recorded without changes. A ``write(_:forKey:mayWait:)`` of an equal value need not be recorded.
///
/// To test an implementation against this contract, use `StoredSettingsTesting`.
public protocol SettingsStore: AnyObject, Sendable {
    /// How long committed values last.
    var persistence: SettingsPersistence { get }

    /// Sets the observer that records every change from now on, and replaces the previous one.
    ///
    /// A suite sets the observer before it makes any other call. Each further suite with the same store sets it again,
    /// possibly to the same object. The store holds a weak reference.
    func setObserver(_ observer: any StoreObserver)

    /// The object that shows whether values are current, so that reads are cached; `nil` for a store that has to be asked.
    ///
    /// Invalidate it with every change, under the lock under which the change is recorded, and before that. A cached read takes about
    /// 2 ns. Without the object, every read converts the stored value.
    var sharedVersion: StoreVersion? { get }

    /// Reads a value and runs a body with it before a later change can be recorded.
    ///
    /// The body belongs to the library: it is short, calls no store and runs no user code.
    ///
    /// - Parameters:
    ///   - key: The key to read.
    ///   - body: Receives the stored value; `nil` if there is none.
    /// - Returns: The result of the body.
    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result

    /// Returns the store's own default for a key without a stored value.
    ///
    /// It takes precedence over the default in the declaration. Implement it for a store whose backend has its own
    /// defaults. Such a default is not stored: no key has a value because of it. A change of one need not be recorded,
    /// but invalidates ``sharedVersion``. No lock is held during this call, except by a commit whose body makes the call.
    ///
    /// - Parameter key: The key to read.
    /// - Returns: The default; `nil` if the store has none.
    func fallback(forKey key: String) -> StoredValue?

    /// Returns all stored values, as of one moment.
    func contents() -> [String: StoredValue]

    /// Runs a body on the newest contents, without a concurrent writer, and stores either all its changes or none.
    ///
    /// A store that cannot exclude writers far away runs the body again when one of them has changed the contents meanwhile.
    /// Only the last run counts.
    ///
    /// - Parameters:
    ///   - isBlind: Whether the body only assigns and removes values, without regard to the existing ones. A store accepts such a commit
    ///     while the contents cannot be read, if it can, and throws otherwise.
    ///   - body: Reads and changes the contents. If it throws, the commit rethrows the error and nothing changes.
    /// - Returns: The result of the body.
    /// - Throws: The error of the body, or ``SettingsError`` if the changes cannot be stored.
    func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result

    /// Stores the value of one key, whatever is stored now.
    ///
    /// It is the same as a blind commit whose body makes one assignment. Most sets make this call, so a store should make it fast.
    ///
    /// - Parameters:
    ///   - value: The value; `nil` to remove the stored one.
    ///   - key: The key.
    ///   - mayWait: Whether to wait for other threads and processes.
    /// - Returns: Whether the value is stored. If not, nothing has changed; with `mayWait`, it is always `true`.
    /// - Throws: ``SettingsError`` if the change cannot be stored. Nothing has changed then.
    func write(_ value: StoredValue?, forKey key: String, mayWait: Bool) throws -> Bool

    /// Makes assignments visible now, and stores them later.
    ///
    /// Implement it for a store whose writes wait for a network. An assignment, which cannot throw or wait, makes this call
    /// before any other. The store must not lose the values when the process ends. It reports to its ``StoreObserver`` if it
    /// drops them.
    ///
    /// - Parameter edits: The values; `nil` to remove the stored one of a key. None to find out whether the store accepts any.
    /// - Returns: Whether the store has accepted the values. If not, nothing has changed.
    /// - Throws: ``SettingsError`` if the values can never be stored. Nothing has changed then.
    func writeLater(_ edits: [String: StoredValue?]) throws -> Bool

    /// Waits until everything committed so far survives a power loss.
    ///
    /// - Throws: ``SettingsError`` if that cannot be achieved.
    func synchronize() throws

    /// Waits until everything committed so far is in its final place, such as the settings file.
    ///
    /// Implement it for a store that writes values there later.
    ///
    /// - Throws: ``SettingsError`` if the values cannot be written there.
    func checkpoint() throws

    /// Brings the contents up to date with everything that any process has committed before this call.
    ///
    /// Implement it for a store whose reads may return an earlier state. While it throws, reads return the newest contents that could
    /// be read, or none.
    ///
    /// - Parameter mayWait: Whether to wait for a network. Otherwise, only what is known counts.
    /// - Throws: ``SettingsError`` if the newest contents cannot be read.
    func refresh(mayWait: Bool) throws

    /// Starts to notice changes of other processes without being asked to read.
    ///
    /// Every stream and observation calls it, so the store may already be watching.
    func watch()

    /// Returns the place of a key's value in a file, for errors about it; `nil` when it is not in a file, or cannot be found.
    ///
    /// It may read the file.
    func location(ofValueForKey key: String) -> SettingsError.Location?

    /// Releases files and watches.
    ///
    /// A commit that begins afterwards may throw. Reads return the last contents. Closing again has no effect.
    func close()
}

extension SettingsStore {
    /// Returns the stored value of a key.
    public func value(forKey key: String) -> StoredValue? {
        withValue(forKey: key) { $0 }
    }

    /// Always `nil`.
    ///
    /// This is sufficient for a store that does not notice all changes.
    public var sharedVersion: StoreVersion? { nil }

    /// Makes one assignment in a blind commit.
    public func write(_ value: StoredValue?, forKey key: String, mayWait: Bool) throws -> Bool {
        guard mayWait else { return false }
        try commit(isBlind: true) { $0[key] = value }
        return true
    }

    /// Returns `false`.
    ///
    /// This is sufficient for a store whose writes wait for no network.
    public func writeLater(_ edits: [String: StoredValue?]) throws -> Bool { false }

    /// Returns `nil`.
    ///
    /// This is sufficient for a store without defaults of its own.
    public func fallback(forKey key: String) -> StoredValue? { nil }

    /// Does nothing.
    ///
    /// This is sufficient for a store whose commits write to the final place.
    public func checkpoint() {}

    /// Does nothing.
    ///
    /// This is sufficient for a store whose reads return the newest contents.
    public func refresh(mayWait: Bool) throws {}

    /// Does nothing.
    ///
    /// This is sufficient for a store that no other process can change.
    public func watch() {}

    /// Returns `nil`.
    ///
    /// This is sufficient for a store without a file that people edit.
    public func location(ofValueForKey key: String) -> SettingsError.Location? { nil }

    /// Does nothing.
    ///
    /// This is sufficient for a store without files or watches.
    public func close() {}
}

extension SettingsStore {
    /// The error that prevents a current read; `nil` if there is none.
    package var problem: SettingsError? {
        do {
            try refresh(mayWait: false)
            return nil
        } catch {
            return SettingsError.wrapping(error, as: .readFailed)
        }
    }

    /// Runs a commit that may depend on the stored values.
    package func commit<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        try commit(isBlind: false, body)
    }

    /// Stores the value of one key, and waits as long as necessary.
    package func write(_ value: StoredValue?, forKey key: String) throws {
        _ = try write(value, forKey: key, mayWait: true)
    }
}

/// A store whose commits wait within a ``WaitLimit``.
package protocol LimitedStore: SettingsStore {}

/// A store that keeps earlier values, for when the stored ones are unusable.
protocol RecoveringStore: SettingsStore {
    /// Returns the last good values on the disk; `nil` if there are none.
    ///
    /// This reads a file. The caller holds no lock of the store.
    func copiedValues() -> CopiedValues?

    /// Receives that a value is used instead of a stored one, which the copy may lack.
    func noteReplacement()

    /// Receives that its observer has values to save, also when the process exits.
    func noteUnsavedWrites()
}

/// An observer with settings that know which values are usable.
protocol LastGoodObserver: StoreObserver {
    /// Whether settings have to examine values: those that have changed, and before a checkpoint all that they have not examined.
    func isExaminationDue(forCheckpoint isForCheckpoint: Bool) -> Bool

    /// Finds out which values are unusable, and which ones are used instead.
    ///
    /// This runs user code, so the store calls it without holding a lock, and not on a thread that makes values durable.
    func examineValues(forCheckpoint isForCheckpoint: Bool)

    /// The values that the settings of this process use instead of stored ones, for the last good copy.
    var replacements: [ValueReplacement] { get }

    /// Whether the last good value of a key ends, because the settings of this process use the stored one, or it is secret.
    func uses(_ value: StoredValue?, forKey key: String) -> Bool

    /// Saves the values that could not be saved yet, or reports that they are lost.
    func saveAtExit(within limit: Duration)

    /// The keys of the settings of this process, which a store retains.
    var declaredKeys: DeclaredKeys { get }
}

extension LastGoodObserver {
    func isExaminationDue(forCheckpoint isForCheckpoint: Bool) -> Bool { false }

    func examineValues(forCheckpoint isForCheckpoint: Bool) {}

    func saveAtExit(within limit: Duration) {}

    var declaredKeys: DeclaredKeys { DeclaredKeys() }
}

/// The values of the last good copy.
struct CopiedValues {
    var contents: [String: StoredValue]
    /// The older values that were retained because those of the contents were not used then, by key; `nil` for no value.
    var lastGood: [String: StoredValue?]
    /// The keys whose values were set or removed since.
    var newer: Set<String>
}

/// A value that is used instead of a stored one; either may be none.
struct ValueReplacement: Equatable {
    var key: String
    var stored: StoredValue?
    var used: StoredValue?
}

/// How long the values of a suite last.
public enum SettingsPersistence: Sendable, Hashable {
    /// Values are stored in this file and outlive the process.
    case durable(path: String)
    /// Values are read from this file and cannot be saved, for this reason. Assigned values last until the process
    /// ends.
    case readOnly(path: String, reason: String)
    /// Values last until the process ends, for this reason.
    case ephemeral(reason: String)
}

extension SettingsPersistence: CustomStringConvertible {
    /// A textual representation of the persistence.
    public var description: String {
        switch self {
        case .durable(let path): "stored in \(TerminalText.escaped(path))"
        case .readOnly(let path, let reason):
            "read from \(TerminalText.escaped(path)), which cannot be changed: \(reason)"
        case .ephemeral(let reason): "stored in memory: \(reason)"
        }
    }
}
