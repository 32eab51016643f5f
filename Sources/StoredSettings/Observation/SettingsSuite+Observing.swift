// SPDX-License-Identifier: Apache-2.0

extension SettingsSuite {
    /// Calls a closure whenever one of several settings has changed.
    ///
    /// ```swift
    /// let observation = suite.observe(settings.$host, settings.$port) {
    ///     server.listen(on: settings.host, settings.port)
    /// }
    /// ```
    ///
    /// The changes of a transaction are one call. Threads and order are those of ``Setting/observe(initial:_:)``.
    ///
    /// - Parameters:
    ///   - settings: Settings of this suite, of any types. A setting of another suite is reported and not observed.
    ///   - initial: Whether to call the closure at once as well.
    ///   - onChange: The closure to call.
    /// - Returns: The observation. It ends with the last reference to it, unless it is tied to an object.
    public func observe<each Value: Sendable>(
        _ settings: repeat Setting<each Value>,
        initial: Bool = false,
        _ onChange: @escaping @Sendable () -> Void
    ) -> SettingObservation {
        observe(observed(repeat each settings), initial: initial, onChange)
    }

    /// Calls a closure whenever the value of one of several keys has changed.
    ///
    /// ```swift
    /// let observation = suite.observe(.host, .port) { restart() }
    /// ```
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - initial: Whether to call the closure at once as well.
    ///   - onChange: The closure to call.
    /// - Returns: The observation. It ends with the last reference to it, unless it is tied to an object.
    public func observe(
        _ keys: AnySettingKey...,
        initial: Bool = false,
        _ onChange: @escaping @Sendable () -> Void
    ) -> SettingObservation {
        observe(keys, initial: initial, onChange)
    }

    /// Calls a closure whenever the value of one of several keys has changed.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - initial: Whether to call the closure at once as well.
    ///   - onChange: The closure to call.
    /// - Returns: The observation. It ends with the last reference to it, unless it is tied to an object.
    public func observe(
        _ keys: [AnySettingKey],
        initial: Bool = false,
        _ onChange: @escaping @Sendable () -> Void
    ) -> SettingObservation {
        observe(keys.map { $0.observed(in: self) }, initial: initial, onChange)
    }

    private func observe(
        _ settings: [any ObservedSetting],
        initial: Bool,
        _ onChange: @escaping @Sendable () -> Void
    ) -> SettingObservation {
        let keys = Set(settings.flatMap(\.storedKeys.all))
        let observed = settings.map { $0.followed() }
        // Until the values that changes start from are known, changes wait.
        let subscriber = CallbackSubscriber(isDelivering: true) {
            SettingsSuite.Change($0, keys: keys, includesLayers: true)
        } callback: { change in
            var hasChanged = false
            // All of them, because each follows the changes.
            for setting in observed where setting.hasChanged(in: change) { hasChanged = true }
            if hasChanged { onChange() }
        }
        let observation = SettingObservation(subscriber, id: engine.addSubscriber(subscriber), engine: engine)
        let contents = engine.contents()
        for setting in observed { setting.begin(with: contents) }
        if initial { onChange() }
        subscriber.endDelivery()
        return observation
    }

    /// The settings of this suite among some settings.
    ///
    /// Those of other suites are reported.
    func observed<each Value: Sendable>(_ settings: repeat Setting<each Value>) -> [any ObservedSetting] {
        var own: [any ObservedSetting] = []
        for setting in repeat each settings {
            if setting.suite.engine === engine {
                own.append(setting)
            } else {
                reporter.report(
                    setting.otherSuite(
                        than: "'\(name)', which observes it",
                        consequence: "its changes are not delivered",
                        remedy: "observe the settings of each suite separately"
                    )
                )
            }
        }
        return own
    }
}

/// A setting of any type.
protocol ObservedSetting: Sendable {
    /// The keys under which a value may be stored.
    var storedKeys: StoredKeys { get }

    /// Returns what a subscriber has to know to find out whether the value of the setting changes.
    func followed() -> any FollowedSetting
}

/// A setting of any type, with the values that a subscriber knows.
protocol FollowedSetting: Sendable {
    /// Begins with the contents of the store after the subscription.
    func begin(with contents: [String: StoredValue])

    /// Returns whether a change of the suite changes the value of the setting, and updates the known values.
    func hasChanged(in change: SettingsSuite.Change) -> Bool
}

private struct Followed<Value: Sendable>: FollowedSetting {
    let setting: Setting<Value>
    /// `nil` for a setting that has one key.
    let known: KnownValues?
    let last = LastReading<Value>()

    func begin(with contents: [String: StoredValue]) {
        known?.begin(with: contents)
        let stored = setting.storedKeys.value { contents[$0] }
        last.note(setting.box.consistentReading(of: stored, isReported: false))
    }

    func hasChanged(in change: SettingsSuite.Change) -> Bool {
        if let known {
            guard var own = known.change(change.changes.mapValues(\.new), change.origin) else { return false }
            own.isLayered = setting.storedKeys.all.contains { change[$0]?.isLayered == true }
            return setting.change(own, after: last) != nil
        }
        guard let own = change[setting.key] else { return false }
        return setting.change(own, after: last) != nil
    }
}

extension Setting: ObservedSetting {
    package var storedKeys: StoredKeys { box.key.storedKeys }

    func followed() -> any FollowedSetting {
        Followed(setting: self, known: knownValues)
    }

    /// The error of a call on one suite for a setting of another one.
    func otherSuite(than other: String, consequence: String, remedy: String) -> SettingsError {
        var error = SettingsError(
            .otherSuite,
            fact: "the setting belongs to another suite than \(other)",
            consequence: consequence,
            remedy: remedy,
            key: key
        )
        error.suite = suite.name
        return error
    }
}
