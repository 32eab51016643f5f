// SPDX-License-Identifier: Apache-2.0

extension SettingsSuite {
    /// Whether suites are observable where nobody says otherwise.
    static var isObservableByDefault: Bool {
        #if canImport(Darwin)
        true
        #else
        false
        #endif
    }

    /// The same suite, made to work with Observation: `withObservationTracking` and `@Observable` models, and so SwiftUI,
    /// follow the settings that they read from it.
    ///
    /// ```swift
    /// let suite = SettingsSuite("com.acme.server").observable()
    /// let port = Setting("port", default: 8080, suite: suite)
    ///
    /// withObservationTracking {
    ///     print(port.value)
    /// } onChange: {
    ///     print("the port is another now")
    /// }
    /// ```
    ///
    /// What counts as a read is ``Setting/value``, the property itself, ``Setting/isSet`` and ``Setting/load()``. Changes
    /// by other processes and by hand are told, too: from about a second after the first read on, or at once while anybody
    /// watches the suite in another way. `onChange` is called under no lock, on the thread that made the change, or on
    /// one of the library's for a change from outside. Then the new value can be read already.
    ///
    /// Each read takes about a tenth of a microsecond, whether it is tracked or not, and each change one or two
    /// microseconds more. So a suite is observable from the beginning on Apple platforms alone. It is a property of this value
    /// and of the settings that are made with it; other suites in the same place are not affected.
    ///
    /// - Parameter isObservable: Whether it is to work with Observation.
    /// - Returns: The suite.
    public func observable(_ isObservable: Bool = true) -> SettingsSuite {
        guard isObservable != self.isObservable else { return self }
        return SettingsSuite(
            name: name,
            engine: engine,
            overrides: overrides,
            reporter: reporter,
            isObservable: isObservable
        )
    }
}
