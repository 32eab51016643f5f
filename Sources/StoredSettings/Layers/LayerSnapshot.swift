// SPDX-License-Identifier: Apache-2.0

/// The contents of the files of a suite's layers at one moment.
final class LayerSnapshot: Sendable {
    /// Increases with each snapshot of the same files.
    let number: UInt64
    /// The managed files that exist, highest precedence first.
    let managed: [LayerDocument]
    /// The files beneath the store that exist, highest precedence first.
    let bases: [LayerDocument]
    /// The secrets that exist, of those that settings have asked for.
    let secrets: [FilePath: LayerSecret]
    /// The errors of the directories that cannot be read.
    let directoryProblems: [SettingsError]

    init(
        number: UInt64,
        managed: [LayerDocument] = [],
        bases: [LayerDocument] = [],
        secrets: [FilePath: LayerSecret] = [:],
        directoryProblems: [SettingsError] = []
    ) {
        self.number = number
        self.managed = managed
        self.bases = bases
        self.secrets = secrets
        self.directoryProblems = directoryProblems
    }

    /// The snapshot of layers without files.
    static let empty = LayerSnapshot(number: 0)

    /// All files with several values.
    var documents: [LayerDocument] { managed + bases }

    /// The errors of the files with several values and of the directories.
    var problems: [SettingsError] { documents.compactMap(\.problem) + directoryProblems }

    /// The error of a change of some keys if one of them is managed, whether or not its value can be used; otherwise
    /// `nil`.
    func managedError(forKeys keys: [String]) -> SettingsError? {
        for document in managed {
            if document.isUnknown {
                return .unknownManagement(keys.first, in: document.path, because: document.problem)
            }
            if let key = keys.first(where: { document.contents[$0] != nil }) {
                return .managed(key, at: document.location(ofValueForKey: key))
            }
        }
        return nil
    }

    /// The keys whose values differ from those of an earlier snapshot, except those of secrets.
    func changedKeys(since old: LayerSnapshot) -> Set<String> {
        let (before, after) = (old.contentsByPath, contentsByPath)
        var keys: Set<String> = []
        for path in Set(before.keys).union(after.keys) {
            keys.formUnion([StoreChange](from: before[path] ?? [:], to: after[path] ?? [:]).map(\.key))
        }
        return keys
    }

    private var contentsByPath: [FilePath: [String: StoredValue]] {
        Dictionary(documents.map { ($0.path, $0.contents) }) { first, _ in first }
    }
}

/// A file with several values of a layer.
struct LayerDocument: Sendable {
    let path: FilePath
    /// The last good values, without `$schema`.
    let contents: [String: StoredValue]
    /// The error that prevents reading the file.
    let problem: SettingsError?
    /// Whether the file exists, and its values were never known.
    let isUnknown: Bool

    /// Returns the value of the first of some keys that has one, and that key.
    func value(for keys: StoredKeys) -> (key: String, value: StoredValue)? {
        for key in keys.all {
            if let value = contents[key] { return (key, value) }
        }
        return nil
    }

    /// The place of a key's value, for errors; takes time in proportion to the file.
    func location(ofValueForKey key: String) -> SettingsError.Location {
        do {
            let file = SettingsFile(path: path, system: SystemCalls())
            return try file.location(ofValueForKey: key) ?? SettingsError.Location(file: path.description)
        } catch {
            // The file cannot be read any more, and was reported for that.
            return SettingsError.Location(file: path.description)
        }
    }
}

/// A file with one secret.
struct LayerSecret: Sendable {
    /// The text, without a line break at the end; `nil` if it was never known.
    let text: String?
    /// The error that prevents reading the file.
    let problem: SettingsError?

    /// Whether both result in the same value.
    func isSame(as other: LayerSecret?) -> Bool {
        text == other?.text && problem?.message == other?.problem?.message
    }
}
