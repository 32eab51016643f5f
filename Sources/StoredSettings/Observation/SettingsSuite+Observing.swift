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
        let subscriber = CallbackSubscriber(isDelivering: initial) {
            SettingsSuite.Change($0, keys: keys)
        } callback: { change in
            if settings.contains(where: { $0.hasChanged(in: change) }) { onChange() }
        }
        let observation = SettingObservation(subscriber, id: engine.addSubscriber(subscriber), engine: engine)
        if initial {
            onChange()
            subscriber.endDelivery()
        }
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

    /// Returns whether a change of the suite changes the value of the setting.
    func hasChanged(in change: SettingsSuite.Change) -> Bool
}

extension Setting: ObservedSetting {
    var storedKeys: StoredKeys { box.key.storedKeys }

    func hasChanged(in change: SettingsSuite.Change) -> Bool {
        guard storedKeys.all.contains(where: { change[$0] != nil }) else { return false }
        // Only a renamed setting has several keys. One that has not changed has its current value before and after.
        let old = storedKeys.value { change[$0].map(\.old) ?? engine.value(forKey: $0) }
        let new = storedKeys.value { change[$0].map(\.new) ?? engine.value(forKey: $0) }
        return self.change(StoredValueChange(old: old, new: new, origin: change.origin)) != nil
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
