// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Writing.md, "Nothing blocks a cooperative thread on another process".

extension Setting {
    /// The operations of this setting that may have to wait, as asynchronous functions.
    ///
    /// ```swift
    /// try await settings.$port.async.set(9090)
    /// ```
    ///
    /// Use them in a server: while another process holds the lock of the suite, they suspend the task, and the synchronous
    /// forms block its thread.
    public var async: Async { Async(setting: self) }

    /// The operations of a setting that suspend the task instead of blocking its thread.
    ///
    /// Each of them does the same as its synchronous form. If the task is canceled while it waits, the operation throws
    /// `CancellationError` and has changed nothing. A cancellation that comes later has no effect.
    public struct Async: Sendable {
        fileprivate let setting: Setting

        /// Stores a value: see ``Setting/set(_:)``.
        ///
        /// Usually nothing has to be waited for. Then the task is not suspended.
        ///
        /// - Parameter value: The new value.
        /// - Throws: ``SettingsError`` when the value is rejected or cannot be saved, or `CancellationError`. Then nothing
        ///   has changed.
        public nonisolated(nonsending) func set(_ value: Value) async throws {
            try Task.checkCancellation()
            let stored = try setting.box.encode(value)
            if try setting.writeWithoutWaiting(stored) { return }
            try await setting.engine.suspending { [setting] in try setting.write(stored) }
        }

        /// Removes the stored value: see ``Setting/reset()``.
        ///
        /// - Throws: ``SettingsError`` when the change cannot be saved, or `CancellationError`. Then nothing has changed.
        public nonisolated(nonsending) func reset() async throws {
            try Task.checkCancellation()
            if try setting.writeWithoutWaiting(nil) { return }
            try await setting.engine.suspending { [setting] in try setting.write(nil) }
        }

        /// Atomically updates the value: see ``Setting/update(_:)``.
        ///
        /// - Parameter body: Changes the value, in the task and on the actor of the caller.
        /// - Returns: The new value.
        /// - Throws: The error of the closure; ``SettingsError`` when the stored value cannot be decoded, or when the new
        ///   value is rejected or cannot be saved; `CancellationError`. Then nothing has changed.
        @discardableResult
        public nonisolated(nonsending) func update(_ body: (inout Value) throws -> Void) async throws -> Value {
            var hasBegun = false
            do {
                return try await setting.suite.suspendingTransaction {
                    hasBegun = true
                    return try $0.update(setting, body)
                }
            } catch let error as SettingsError {
                throw hasBegun ? error : setting.box.naming(error, as: .writeFailed)
            }
        }
    }
}

extension AnySetting {
    /// The operations of this setting that may have to wait, as asynchronous functions.
    ///
    /// ```swift
    /// try await catalog["port"]?.async.set(text: "9090")
    /// ```
    ///
    /// Use them in a server: while another process holds the lock of the suite, they suspend the task, and the synchronous
    /// forms block its thread.
    public var async: Async { Async(setting: self) }

    /// The operations of a setting of any type that suspend the task instead of blocking its thread.
    ///
    /// Each of them does the same as its synchronous form. If the task is canceled while it waits, the operation throws
    /// `CancellationError` and has changed nothing. A cancellation that comes later has no effect.
    public struct Async: Sendable {
        fileprivate let setting: AnySetting

        /// Stores the value of a text: see ``AnySetting/set(text:)``.
        ///
        /// - Parameter text: The text, in the form of a flag's value.
        /// - Throws: ``SettingsError`` when the text is no valid value or the value cannot be saved, or `CancellationError`.
        ///   Then nothing has changed.
        public nonisolated(nonsending) func set(text: String) async throws {
            try await setting.suite.engine.suspending { [setting] in try setting.set(text: text) }
        }

        /// Removes the stored value: see ``AnySetting/reset()``.
        ///
        /// - Throws: ``SettingsError`` when the change cannot be saved, or `CancellationError`. Then nothing has changed.
        public nonisolated(nonsending) func reset() async throws {
            try await setting.suite.engine.suspending { [setting] in try setting.reset() }
        }
    }
}

extension SettingsSuite {
    /// The operations of this suite that may have to wait, as asynchronous functions.
    ///
    /// ```swift
    /// try await suite.async.transaction { values in
    ///     values[settings.$host] = "example.org"
    ///     values[settings.$port] = 443
    /// }
    /// ```
    ///
    /// Use them in a server: while another process holds the lock of the suite, or a disk is slow, they suspend the task,
    /// and the synchronous forms block its thread.
    public var async: Async { Async(suite: self) }

    /// The operations of a suite that suspend the task instead of blocking its thread.
    ///
    /// Each of them does the same as its synchronous form. If the task is canceled while it waits for another writer, the
    /// operation throws `CancellationError` and has changed nothing. A cancellation that comes later has no effect.
    public struct Async: Sendable {
        fileprivate let suite: SettingsSuite

        /// Changes several settings at once: see ``SettingsSuite/transaction(_:)``.
        ///
        /// - Parameter body: Reads and changes settings, in the task and on the actor of the caller.
        /// - Returns: The result of the closure.
        /// - Throws: The error of the closure; ``SettingsError`` when the changes cannot be saved; `CancellationError`. Then
        ///   nothing has changed.
        @discardableResult
        public nonisolated(nonsending) func transaction<Result>(
            _ body: (inout SettingsTransaction) throws -> Result
        ) async throws -> Result {
            try await suite.suspendingTransaction(body)
        }

        /// Stores a value of a key, or removes it: see ``SettingsSuite/setStoredValue(_:forKey:)``.
        ///
        /// - Parameters:
        ///   - value: The new value; `nil` to remove the stored one.
        ///   - key: The key.
        /// - Throws: ``SettingsError`` when the change cannot be saved, or `CancellationError`. Then nothing has changed.
        public nonisolated(nonsending) func setStoredValue(_ value: StoredValue?, forKey key: String) async throws {
            try await suite.engine.suspending { [suite] in try suite.setStoredValue(value, forKey: key) }
        }

        /// Removes the stored values of several settings in one change.
        ///
        /// - Parameter keys: The keys.
        /// - Throws: ``SettingsError`` when the change cannot be saved, or `CancellationError`. Then nothing has changed.
        public nonisolated(nonsending) func reset(_ keys: AnySettingKey...) async throws {
            let keys = keys.flatMap { suite.fullKeys($0).all }
            try await suite.engine.suspending { [suite] in try suite.remove(keys) }
        }

        /// Removes the stored values of several settings of any types.
        ///
        /// - Parameter settings: Settings of this suite.
        /// - Throws: ``SettingsError`` when the change cannot be saved or a setting belongs to another suite, or
        ///   `CancellationError`. Then nothing has changed.
        public nonisolated(nonsending) func reset<each Value: Sendable>(_ settings: repeat Setting<each Value>)
            async throws
        {
            let keys = try suite.keys(of: repeat each settings)
            try await suite.engine.suspending { [suite] in try suite.remove(keys) }
        }

        /// Removes every stored value: see ``SettingsSuite/removeAll()``.
        ///
        /// - Throws: ``SettingsError`` when the change cannot be saved, or `CancellationError`. Then nothing has changed.
        public nonisolated(nonsending) func removeAll() async throws {
            try await suite.engine.suspending { [suite] in try suite.removeAll() }
        }

        /// Runs the pending steps of a migration: see ``SettingsMigrator/migrate(_:)``.
        ///
        /// - Parameter migrator: The steps.
        /// - Returns: The names of the steps that ran.
        /// - Throws: ``SettingsError`` when a step fails or the changes cannot be saved, or `CancellationError`. Then the suite
        ///   is unchanged.
        @discardableResult
        public nonisolated(nonsending) func migrate(with migrator: SettingsMigrator) async throws -> [String] {
            try await suite.engine.suspending { [suite] in try migrator.migrate(suite) }
        }

        /// Returns once every change so far survives a power loss: see ``SettingsSuite/synchronize()``.
        ///
        /// - Throws: ``SettingsError`` when that cannot be achieved, or `CancellationError`.
        public nonisolated(nonsending) func synchronize() async throws {
            try await suite.engine.suspendedSaves.run { [suite] in try suite.synchronize() }
        }

        /// Brings the values up to date: see ``SettingsSuite/refresh()``.
        ///
        /// - Throws: ``SettingsError`` when the newest values cannot be read, or `CancellationError`.
        public nonisolated(nonsending) func refresh() async throws {
            try await suite.engine.suspendedSaves.run { [suite] in try suite.refresh() }
        }

        /// Writes every change so far into the settings file: see ``SettingsSuite/checkpoint()``.
        ///
        /// - Throws: ``SettingsError`` when the file cannot be written, or `CancellationError`.
        public nonisolated(nonsending) func checkpoint() async throws {
            try await suite.engine.suspendedSaves.run { [suite] in try suite.checkpoint() }
        }

        /// Saves everything, and ends the streams of the suite: see ``SettingsSuite/finish()``.
        ///
        /// A cancellation has no effect.
        public nonisolated(nonsending) func finish() async {
            await withCheckedContinuation { continuation in
                suite.engine.suspendedSaves.runInBackground { [suite] in
                    suite.finish()
                    continuation.resume()
                }
            }
        }
    }
}
