// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension SettingsEngine {
    /// What makes two suites share an engine.
    private enum Identity: Hashable {
        case file(path: FilePath)
        case store(ObjectIdentifier)
        case memory(name: String)
    }

    private static let engines = Locked<[Identity: EngineReference]>([:])
    private static let ephemeral = Locked<[String: SettingsEngine]>([:])

    /// The engine for a file, however many suites name it, by whichever path.
    static func shared(forFileAt path: FilePath, reporter: any SettingsReporter) -> SettingsEngine {
        let resolved = SettingsPath.identity(of: path, SystemCalls())
        return shared(.file(path: resolved), ownsStore: true, reporter: reporter) { FileStore(path: path) }
    }

    /// The engine for a store of the user's.
    static func shared(for store: any SettingsStore, reporter: any SettingsReporter) -> SettingsEngine {
        shared(.store(ObjectIdentifier(store)), ownsStore: false, reporter: reporter) { store }
    }

    /// The engine of a suite that has nowhere to write, however many name it.
    static func inMemory(because error: SettingsError, name: String, reporter: any SettingsReporter) -> SettingsEngine {
        let engine = shared(.memory(name: name), ownsStore: true, reporter: reporter) {
            InMemoryStore(reason: error.fact)
        }
        // It alone has the values, so it stays for as long as the process.
        ephemeral.withLock { $0[name] = engine }
        var error = error
        error.suite = name
        reporter.report(error)
        return engine
    }

    private static func shared(
        _ identity: Identity,
        ownsStore: Bool,
        reporter: any SettingsReporter,
        makeStore: () -> any SettingsStore
    ) -> SettingsEngine {
        // Made before it is known whether it is needed, so that nothing of others runs under the lock.
        let new = SettingsEngine(store: makeStore(), ownsStore: ownsStore, reporter: reporter)
        let (engine, others) = engines.withLock { engines in
            // What is looked at is let go of after the lock: an engine that ends then closes its store.
            let known = engines[identity]?.engine
            if let known, !known.isFinished { return (known, [SettingsEngine]()) }
            let others = engines.compactMapValues(\.engine)
            engines = engines.filter { others[$0.key] != nil }
            engines[identity] = EngineReference(new)
            return (new, others.values + [known].compactMap { $0 })
        }
        _ = consume others
        engine.addReporter(reporter)
        // Whoever gets an engine has made sure that it hears of changes; doing so again changes nothing.
        engine.store.setObserver(engine)
        return engine
    }
}
