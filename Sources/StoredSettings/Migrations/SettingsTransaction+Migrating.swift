// SPDX-License-Identifier: Apache-2.0

extension SettingsTransaction {
    /// Moves the stored value of one key to another key, without converting it.
    ///
    /// Does nothing when the old key has no stored value. When the new key already has a value, both stay unchanged.
    ///
    /// - Parameters:
    ///   - old: The key that the value is moved from.
    ///   - new: The key that the value is moved to.
    public mutating func rename(_ old: String, to new: String) {
        guard let value = self[storedValueFor: old], self[storedValueFor: new] == nil else { return }
        self[storedValueFor: new] = value
        self[storedValueFor: old] = nil
    }

    /// Moves the stored value of one key to another key, without converting it.
    ///
    /// Does nothing when the old key has no stored value. When the new key already has a value, both stay unchanged.
    ///
    /// - Parameters:
    ///   - old: The key that the value is moved from.
    ///   - new: The key that the value is moved to.
    public mutating func rename(_ old: String, to new: AnySettingKey) {
        rename(old, to: new.name)
    }

    /// Converts the stored value of a key; does nothing when no value is stored.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - body: Returns the new stored value, or `nil` to remove it.
    /// - Throws: ``SettingsError`` that names the key, when the closure throws.
    public mutating func convert(_ key: String, _ body: (StoredValue) throws -> StoredValue?) throws {
        guard let value = self[storedValueFor: key] else { return }
        do {
            self[storedValueFor: key] = try body(value)
        } catch {
            var error = SettingsError.wrapping(error, as: .invalidValue)
            error.key = error.key ?? suite.fullKey(key)
            throw error
        }
    }

    /// Converts the stored value of a key to the current form of the key; does nothing when no value is stored.
    ///
    /// - Parameters:
    ///   - key: The key, in its current definition.
    ///   - bridge: The bridge with which the value was stored.
    /// - Throws: ``SettingsError`` when the bridge cannot read the stored value, or the setting rejects it.
    public mutating func convert<Value>(
        _ key: SettingKey<Value>,
        from bridge: some StoredValueBridge<Value>
    ) throws {
        try convert(Setting(key, suite: suite), from: bridge)
    }

    /// Converts the stored value of a setting to the setting's current form; does nothing when no value is stored.
    ///
    /// - Parameters:
    ///   - setting: The setting, in its current definition.
    ///   - bridge: The bridge with which the value was stored.
    /// - Throws: ``SettingsError`` when the bridge cannot read the stored value, or the setting rejects it.
    public mutating func convert<Value>(
        _ setting: Setting<Value>,
        from bridge: some StoredValueBridge<Value>
    ) throws {
        try check(setting)
        guard let value = rawValue(of: setting) else { return }
        do {
            try store(setting.box.encode(bridge.value(from: value)), for: setting)
        } catch {
            var error = SettingsError.wrapping(error, as: .invalidValue)
            error.key = error.key ?? setting.key
            throw error
        }
    }

    /// Converts the stored value of an optional key, with a bridge for the wrapped type.
    ///
    /// - Parameters:
    ///   - key: The key, in its current definition.
    ///   - bridge: The bridge with which the value was stored. Null is read as `nil`.
    /// - Throws: ``SettingsError`` when the bridge cannot read the stored value, or the setting rejects it.
    @_disfavoredOverload
    public mutating func convert<Wrapped>(
        _ key: SettingKey<Wrapped?>,
        from bridge: some StoredValueBridge<Wrapped>
    ) throws {
        try convert(key, from: bridge.optional)
    }

    /// Converts the stored value of an optional setting, with a bridge for the wrapped type.
    ///
    /// - Parameters:
    ///   - setting: The setting, in its current definition.
    ///   - bridge: The bridge with which the value was stored. Null is read as `nil`.
    /// - Throws: ``SettingsError`` when the bridge cannot read the stored value, or the setting rejects it.
    @_disfavoredOverload
    public mutating func convert<Wrapped>(
        _ setting: Setting<Wrapped?>,
        from bridge: some StoredValueBridge<Wrapped>
    ) throws {
        try convert(setting, from: bridge.optional)
    }
}
