// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension SettingsEngine {
    /// What makes two suites share an engine.
    enum Identity: Hashable {
        case file(path: String)
        case store(ObjectIdentifier)
        case memory(name: String)
    }

    private struct Reference {
        /// Which engine it is, or was, for those who must not get hold of it: the last to let go of it closes its store.
        let id: ObjectIdentifier
        weak var engine: SettingsEngine?

        init(_ engine: SettingsEngine) {
            (id, self.engine) = (ObjectIdentifier(engine), engine)
        }
    }

    private static let engines = Locked<[Identity: Reference]>([:])
    private static let ephemeral = Locked<[String: SettingsEngine]>([:])

    /// The engine for a file, however many suites name it, by whichever path.
    static func shared(forFileAt path: String, reporter: any SettingsReporter) -> SettingsEngine {
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
        let new = SettingsEngine(store: makeStore(), ownsStore: ownsStore, reporter: reporter, identity: identity)
        let (engine, finished) = engines.withLock { engines in
            let known = engines[identity]?.engine
            if let known, !known.isFinished { return (known, nil as SettingsEngine?) }
            engines[identity] = Reference(new)
            return (new, known)
        }
        // Let go of after the lock: an engine that ends closes its store.
        _ = consume finished
        engine.addReporter(reporter)
        // Whoever gets an engine has made sure that it hears of changes; doing so again changes nothing.
        engine.store.setObserver(engine)
        return engine
    }

    /// Forgets an engine that ends.
    func removeFromShared() {
        guard let identity else { return }
        Self.engines.withLock { engines in
            // Another one may have taken its place.
            if engines[identity]?.id == ObjectIdentifier(self) { engines[identity] = nil }
        }
    }
}
