// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension SettingsEngine {
    /// What makes two suites share an engine.
    private enum Identity: Hashable {
        case file(path: String)
        case store(ObjectIdentifier)
    }

    private struct Reference {
        weak var engine: SettingsEngine?
    }

    private static let engines = Locked<[Identity: Reference]>([:])

    /// The engine for a file, however many suites name it, by whichever path.
    static func shared(forFileAt path: String, reporter: any SettingsReporter) -> SettingsEngine {
        let resolved = SettingsPath.identity(of: path, SystemCalls())
        return shared(.file(path: resolved), reporter: reporter) { FileStore(path: path) }
    }

    /// The engine for a store of the user's.
    static func shared(for store: any SettingsStore, reporter: any SettingsReporter) -> SettingsEngine {
        shared(.store(ObjectIdentifier(store)), reporter: reporter) { store }
    }

    /// An engine where there is nowhere to write.
    static func inMemory(because error: SettingsError, name: String, reporter: any SettingsReporter) -> SettingsEngine {
        let engine = SettingsEngine(store: InMemoryStore(reason: error.fact), reporter: reporter)
        var error = error
        error.suite = name
        reporter.report(error)
        return engine
    }

    private static func shared(
        _ identity: Identity,
        reporter: any SettingsReporter,
        makeStore: () -> any SettingsStore
    ) -> SettingsEngine {
        let (engine, isNew) = engines.withLock { engines in
            if let engine = engines[identity]?.engine, !engine.isFinished { return (engine, false) }
            engines = engines.filter { $0.value.engine != nil }
            let engine = SettingsEngine(store: makeStore(), reporter: reporter)
            engines[identity] = Reference(engine: engine)
            return (engine, true)
        }
        if !isNew { engine.addReporter(reporter) }
        return engine
    }
}
