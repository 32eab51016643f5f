// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Reading.md, "Several values are read between two equal versions".

extension SettingsSuite {
    /// The values of two settings at one moment.
    ///
    /// ```swift
    /// let (host, port) = suite.read(settings.$host, settings.$port)
    /// ```
    ///
    /// The values are those of one version of the store and of all sources: of a transaction, all changes or none. Two reads one
    /// after the other may have a change between them. The call waits for no other process. While nothing changes, it takes about
    /// as long as three reads.
    ///
    /// - Parameters:
    ///   - first: A setting of this suite. One of another suite is reported, and its value may be that of another moment.
    ///   - second: Another one, of any type.
    /// - Returns: The values.
    @inlinable
    public func read<First: Sendable, Second: Sendable>(
        _ first: Setting<First>,
        _ second: Setting<Second>
    ) -> (First, Second) {
        for _ in 0..<2 {
            // Values with one version are those of one moment.
            if let first = first.cache.current(as: First.self), let second = second.cache.current(as: Second.self),
                first.version == second.version
            {
                return (first.value, second.value)
            }
            _ = (first.value, second.value)
        }
        return consistentValues(of: first, second)
    }

    /// The values of several settings at one moment: see ``read(_:_:)``.
    ///
    /// It takes about 0.1 microseconds per setting.
    ///
    /// - Parameter settings: Settings of this suite, of any types. One of another suite is reported, and its value may be that of
    ///   another moment.
    /// - Returns: The values.
    public func read<each Value: Sendable>(_ settings: repeat Setting<each Value>) -> (repeat each Value) {
        var suites: [SettingsSuite] = []
        for setting in repeat each settings { suites.append(setting.suite) }
        if let version = engine.storeVersion?.version, suites.allSatisfy({ $0.engine === engine }) {
            let values = (repeat (each settings).value)
            if engine.storeVersion?.isCurrent(version) == true { return values }
        }
        return consistentValues(of: repeat each settings)
    }

    /// The values, of one consistent read of the store.
    @usableFromInline
    func consistentValues<each Value: Sendable>(of settings: repeat Setting<each Value>) -> (repeat each Value) {
        let (readAll, current) = engine.track(repeat each settings, keys: ownKeys(of: repeat each settings))
        repeat (each settings).box.access()
        _ = readAll()
        return current()
    }
}
