// SPDX-License-Identifier: Apache-2.0

extension SettingsTransaction {
    /// Moves what is stored under one key to another, as it is.
    ///
    /// Does nothing when nothing is stored under the old key. Where the new one has a value already, both stay as they
    /// are.
    ///
    /// - Parameters:
    ///   - old: The key under which it is stored.
    ///   - new: The key under which it is stored afterwards.
    public mutating func rename(_ old: String, to new: String) {
        guard let value = self[storedValueFor: old], self[storedValueFor: new] == nil else { return }
        self[storedValueFor: new] = value
        self[storedValueFor: old] = nil
    }

    /// Moves what is stored under one key to another, as it is.
    ///
    /// Does nothing when nothing is stored under the old key. Where the new one has a value already, both stay as they
    /// are.
    ///
    /// - Parameters:
    ///   - old: The key under which it is stored.
    ///   - new: The key under which it is stored afterwards.
    public mutating func rename(_ old: String, to new: AnySettingKey) {
        rename(old, to: new.name)
    }

    /// Changes the form of what is stored under a key; nothing, when nothing is.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - body: Gives the new form of what is stored, or `nil` to remove it.
    /// - Throws: What the closure throws, as a ``SettingsError`` that names the key.
    public mutating func convert(_ key: String, _ body: (StoredValue) throws -> StoredValue?) throws {
        guard let value = self[storedValueFor: key] else { return }
        do {
            self[storedValueFor: key] = try body(value)
        } catch {
            var error = SettingsError.wrapping(error, as: .invalidValue)
            error.key = error.key ?? key
            throw error
        }
    }

    /// Stores a value anew, in the form that its key gives it today; does nothing when nothing is stored.
    ///
    /// - Parameters:
    ///   - key: The key, as it is defined today.
    ///   - bridge: The conversions that stored the value.
    /// - Throws: ``SettingsError`` when the bridge cannot read what is stored, or the setting does not take it.
    public mutating func convert<Value>(
        _ key: SettingKey<Value>,
        from bridge: some StoredValueBridge<Value>
    ) throws {
        try convert(Setting(key, suite: suite), from: bridge)
    }

    /// Stores a value anew, in the form that its setting gives it today; does nothing when nothing is stored.
    ///
    /// - Parameters:
    ///   - setting: The setting, as it is defined today.
    ///   - bridge: The conversions that stored the value.
    /// - Throws: ``SettingsError`` when the bridge cannot read what is stored, or the setting does not take it.
    public mutating func convert<Value>(
        _ setting: Setting<Value>,
        from bridge: some StoredValueBridge<Value>
    ) throws {
        try check(setting)
        try convert(setting.key) { try setting.box.encode(bridge.value(from: $0)) }
    }

    /// Stores the value of an optional key anew, by a bridge for the type inside the optional.
    ///
    /// - Parameters:
    ///   - key: The key, as it is defined today.
    ///   - bridge: The conversions that stored the value; null is `nil`.
    /// - Throws: ``SettingsError`` when the bridge cannot read what is stored, or the setting does not take it.
    @_disfavoredOverload
    public mutating func convert<Wrapped>(
        _ key: SettingKey<Wrapped?>,
        from bridge: some StoredValueBridge<Wrapped>
    ) throws {
        try convert(key, from: bridge.optional)
    }

    /// Stores the value of an optional setting anew, by a bridge for the type inside the optional.
    ///
    /// - Parameters:
    ///   - setting: The setting, as it is defined today.
    ///   - bridge: The conversions that stored the value; null is `nil`.
    /// - Throws: ``SettingsError`` when the bridge cannot read what is stored, or the setting does not take it.
    @_disfavoredOverload
    public mutating func convert<Wrapped>(
        _ setting: Setting<Wrapped?>,
        from bridge: some StoredValueBridge<Wrapped>
    ) throws {
        try convert(setting, from: bridge.optional)
    }
}
