// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Streams.md, "Observation is a property of the suite".

extension SettingsSuite {
    /// Whether a new suite is observable.
    static var isObservableByDefault: Bool {
        #if canImport(Darwin)
        true
        #else
        false
        #endif
    }

    /// Returns this suite with or without support for Observation.
    ///
    /// `withObservationTracking`, `@Observable` models and SwiftUI views track the settings that they read from an observable
    /// suite.
    ///
    /// ```swift
    /// let suite = SettingsSuite("com.acme.server").observable()
    /// let port = Setting("port", default: 8080, suite: suite)
    ///
    /// withObservationTracking {
    ///     print(port.value)
    /// } onChange: {
    ///     print("the port has changed")
    /// }
    /// ```
    ///
    /// Reads of the wrapped property, of ``Setting/value`` and ``Setting/isSet``, and calls of ``Setting/load()`` are tracked.
    /// Changes by other processes and editors are delivered from about a second after the first read, or at once while a
    /// stream or an observation of the suite exists. `onChange` is called after the change, under no lock: on the thread that
    /// made the change, or on a thread of the library for a change from outside. The new value can be read there.
    ///
    /// Each read takes about 100 ns, whether it is tracked or not, and each change takes 1 to 2 µs more. For this reason suites
    /// are observable by default only on Apple platforms. Observability is a property of this value and of the settings that
    /// are created with it; other suites with the same store are not affected.
    ///
    /// - Parameter isObservable: Whether Observation tracks the suite.
    /// - Returns: The suite.
    public func observable(_ isObservable: Bool = true) -> SettingsSuite {
        guard isObservable != self.isObservable else { return self }
        return SettingsSuite(
            name: name,
            engine: engine,
            layers: layers,
            reporter: reporter,
            isObservable: isObservable,
            prefix: group?.prefix
        )
    }
}
