// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The engines of suites that were named without a path, as long as anybody uses them.
///
/// To find the file of a name takes system calls; a struct of settings that names its suite in each of them would make them
/// over and over.
enum NamedEngines {
    private static let references = Locked<[String: EngineReference]>([:])

    /// The engine of a suite that is open under its name.
    static func engine(named name: String, reporter: any SettingsReporter) -> SettingsEngine? {
        let engine = references.withLock { $0[name]?.engine }
        guard let engine, !engine.isFinished else { return nil }
        engine.addReporter(reporter)
        return engine
    }

    /// Lets ``engine(named:reporter:)`` find an engine.
    static func add(_ engine: SettingsEngine, as name: String) {
        let others = references.withLock { references in
            // What is looked at is let go of after the lock.
            let others = references.mapValues(\.engine).filter { $0.value != nil }
            references = references.filter { others[$0.key] != nil }
            references[name] = EngineReference(engine)
            return others
        }
        _ = consume others
    }
}

/// Leads to an engine for as long as it is used.
///
/// It is an object, so that a table of them is copied without looking at each. Unchecked: the variable is set once, and is a
/// variable only since it is weak.
final class EngineReference: @unchecked Sendable {
    private(set) weak var engine: SettingsEngine?

    init(_ engine: SettingsEngine) {
        self.engine = engine
    }
}
