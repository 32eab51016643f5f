// SPDX-License-Identifier: Apache-2.0

extension SettingsSuite {
    /// Calls a closure whenever one of some settings has changed, by whomever.
    ///
    /// ```swift
    /// let observation = suite.observe(settings.$host, settings.$port) {
    ///     server.listen(on: settings.host, settings.port)
    /// }
    /// ```
    ///
    /// What a transaction changes is one call. Otherwise it is as ``Setting/observe(initial:_:)``: calls come one at a
    /// time, and while one is running further changes are kept for the next call.
    ///
    /// - Parameters:
    ///   - settings: Settings of this suite, of any types. One of another suite is reported, and is not observed.
    ///   - initial: Whether to call the closure at once, too.
    ///   - onChange: What to call.
    /// - Returns: The observation, which ends with the last reference to it, unless it is tied to an object.
    public func observe<each Value: Sendable>(
        _ settings: repeat Setting<each Value>,
        initial: Bool = false,
        _ onChange: @escaping @Sendable () -> Void
    ) -> SettingObservation {
        var observed: [any ObservedSetting] = []
        repeat observed.append(each settings)
        return observe(observed, initial: initial, onChange)
    }

    /// Calls a closure whenever what one of some keys stands for has changed, by whomever.
    ///
    /// ```swift
    /// let observation = suite.observe(.host, .port) { restart() }
    /// ```
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - initial: Whether to call the closure at once, too.
    ///   - onChange: What to call.
    /// - Returns: The observation, which ends with the last reference to it, unless it is tied to an object.
    public func observe(
        _ keys: SettingKeys...,
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
        let settings = settings.filter(isOwn)
        let keys = Set(settings.map(\.key))
        let subscriber = CallbackSubscriber(isDelivering: initial) {
            SettingsSuite.Change($0, keys: keys)
        } tell: { change in
            if settings.contains(where: { $0.isConcerned(by: change) }) { onChange() }
        }
        let observation = SettingObservation(subscriber, id: engine.addSubscriber(subscriber), engine: engine)
        if initial {
            onChange()
            subscriber.endDelivery()
        }
        return observation
    }

    private func isOwn(_ setting: any ObservedSetting) -> Bool {
        guard setting.suite.engine !== engine else { return true }
        var error = SettingsError(
            .otherSuite,
            fact: "the setting is of another suite than the observation, '\(name)'",
            consequence: "its changes are not told",
            remedy: "make one observation for each suite"
        )
        error.key = setting.key
        reporter.report(setting.suite.naming(error))
        return false
    }
}

/// A setting of any type, among others that are observed.
protocol ObservedSetting: Sendable {
    var suite: SettingsSuite { get }
    var key: String { get }

    /// Whether the setting has another value after a change of the suite.
    func isConcerned(by change: SettingsSuite.Change) -> Bool
}

extension Setting: ObservedSetting {
    func isConcerned(by change: SettingsSuite.Change) -> Bool {
        guard let part = change[key] else { return false }
        return self.change(StoredValueChange(old: part.old, new: part.new, origin: part.origin)) != nil
    }
}
