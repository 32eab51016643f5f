// SPDX-License-Identifier: Apache-2.0

public import StoredSettings
import Synchronization

/// A store in memory whose reads and changes fail on request, for tests of a program's own code.
///
/// ```swift
/// let store = UnreliableStore(["port": 8080])
/// let port = Setting("port", default: 80, suite: SettingsSuite(store: store))
/// store.failChanges()
/// #expect(throws: SettingsError.self) { try port.set(9090) }
/// #expect(port.value == 8080)
/// ```
///
/// While changes fail, a `set` throws, and an assignment is reported and stored later, as over a full disk. While reads fail,
/// the last values are used, the status of the suite names the error, and what depends on stored values throws,
/// as over a broken file. A store may be used from any thread.
public final class UnreliableStore: SettingsStore {
    private struct State {
        var changeError: SettingsError?
        var readError: SettingsError?
        weak var observer: (any StoreObserver)?
    }

    private let memory: InMemoryStore
    private let state = Mutex(State())

    /// Creates a store whose reads and changes succeed.
    ///
    /// - Parameter values: The initial values.
    public init(_ values: [String: StoredValue] = [:]) {
        memory = InMemoryStore(values)
    }

    /// Makes every change, synchronization and checkpoint fail from now on.
    ///
    /// - Parameter error: The error that they throw; `nil` if they succeed again. Without the argument, the disk is full.
    public func failChanges(with error: SettingsError? = .fullDisk) {
        state.withLock { $0.changeError = error }
    }

    /// Makes every read fail from now on, and reports that, or makes reads succeed again.
    ///
    /// - Parameter error: The error; `nil` if reads succeed again. Without the argument, the file is malformed.
    public func failReads(with error: SettingsError? = .brokenFile) {
        let (old, observer) = state.withLock { state in
            defer { state.readError = error }
            return (state.readError, state.observer)
        }
        if let old { observer?.reportRecovery(from: old) }
        if let error { observer?.report(error) }
    }

    /// Always `.ephemeral`: values last until the process ends.
    public var persistence: SettingsPersistence { memory.persistence }

    /// Sets the observer that records every change from now on.
    public func setObserver(_ observer: any StoreObserver) {
        state.withLock { $0.observer = observer }
        memory.setObserver(observer)
    }

    /// The object that shows whether values are current.
    public var sharedVersion: StoreVersion? { memory.sharedVersion }

    /// Reads a value and runs a body with it before a later change can be recorded.
    public func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        memory.withValue(forKey: key, body)
    }

    /// All stored values, which remain the same while reads fail.
    public func contents() -> [String: StoredValue] { memory.contents() }

    /// Stores all changes of a body or none, unless changes fail, or reads fail and the body is not blind.
    public func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        if !isBlind { try refresh(mayWait: false) }
        try checkChanges()
        return try memory.commit(isBlind: isBlind, body)
    }

    /// Does nothing, or throws while changes fail.
    public func synchronize() throws {
        try checkChanges()
    }

    /// Does nothing, or throws while changes fail.
    public func checkpoint() throws {
        try checkChanges()
    }

    /// Does nothing, or throws while reads fail.
    public func refresh(mayWait: Bool) throws {
        if let error = state.withLock({ $0.readError }) { throw error }
    }

    private func checkChanges() throws {
        if let error = state.withLock({ $0.changeError }) { throw error }
    }
}

extension SettingsError {
    /// The error of a change that a disk has no space for.
    public static var fullDisk: SettingsError {
        SettingsError(
            .writeFailed,
            fact: "the settings cannot be saved: no space left on device",
            consequence: "nothing is changed",
            remedy: "free space on the disk"
        )
    }

    /// The error of a file that is malformed.
    public static var brokenFile: SettingsError {
        SettingsError(
            .malformedFile,
            fact: "the file is not a valid settings file",
            consequence: "it is left unchanged, and its last good values are used, with all values set since",
            remedy: "correct the file"
        )
    }
}
