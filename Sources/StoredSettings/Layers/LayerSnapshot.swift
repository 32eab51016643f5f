// SPDX-License-Identifier: Apache-2.0

/// The contents of the files and suites of a suite's layers at one moment.
final class LayerSnapshot: Sendable {
    /// Increases with each snapshot of the same files.
    let number: UInt64
    /// The suites and the existing files of each source, highest precedence first.
    private let groups: [(source: LayerSource, documents: [LayerDocument])]
    /// The secrets that exist, of those that settings have asked for.
    let secrets: [FilePath: LayerFile<String>]
    /// The errors of the directories that cannot be read.
    let directoryProblems: [SettingsError]

    init(
        number: UInt64,
        groups: [(source: LayerSource, documents: [LayerDocument])] = [],
        secrets: [FilePath: LayerFile<String>] = [:],
        directoryProblems: [SettingsError] = []
    ) {
        self.number = number
        self.groups = groups
        self.secrets = secrets
        self.directoryProblems = directoryProblems
    }

    /// The snapshot of layers without files.
    static let empty = LayerSnapshot(number: 0)

    /// All suites and files with several values, highest precedence first.
    var documents: [LayerDocument] { groups.flatMap(\.documents) }

    /// Returns those of a source.
    func documents(of source: LayerSource) -> [LayerDocument] {
        groups.first { $0.source == source }?.documents ?? []
    }

    /// The errors of the files with several values, of the directories, and of secrets whose last good values are used.
    ///
    /// The settings report secrets that they cannot use.
    var problems: [SettingsError] {
        let secrets = secrets.filter { $0.value.contents != nil }.sorted { $0.key.description < $1.key.description }
        return documents.compactMap(\.problem) + directoryProblems + secrets.compactMap(\.value.problem)
    }

    /// The error of a change of some keys if one of them is managed, whether or not its value can be used; otherwise
    /// `nil`.
    func managedError(forKeys keys: [String]) -> SettingsError? {
        for document in documents where document.layer == .managed {
            if document.isUnknown {
                return .unknownManagement(keys.first, in: FilePath(document.source), because: document.problem)
            }
            if let key = keys.first(where: document.manages) {
                return .managed(key, at: document.location(ofValueForKey: key))
            }
        }
        return nil
    }

    var contentsByOrigin: [LayerDocument.Origin: [String: StoredValue]] {
        Dictionary(documents.map { ($0.origin, $0.contents) }) { first, _ in first }
    }
}

/// A file with several values of a layer, or another suite.
struct LayerDocument: Sendable {
    enum Origin: Hashable {
        case file(FilePath)
        case suite(SettingsSuite)
    }

    let origin: Origin
    let layer: SettingsLayer
    /// The last good values, without `$schema`.
    let contents: [String: StoredValue]
    /// The error that prevents reading the file.
    var problem: SettingsError?
    /// Whether the file exists, and its values were never known.
    var isUnknown = false

    /// The path of the file, or the name of the suite.
    var source: String {
        switch origin {
        case .file(let path): path.description
        case .suite(let suite): "suite '\(suite.name)'"
        }
    }

    /// Whether the file manages a key, or one that may be in an object with this name.
    func manages(_ key: String) -> Bool {
        contents.value(forKey: key) != nil || contents.keys.contains { $0.hasPrefix(key + ".") }
    }

    /// Returns the value of the first of some keys that has one, and that key.
    func value(for keys: StoredKeys) -> (key: String, value: StoredValue)? {
        for key in keys.all {
            if let value = contents.value(forKey: key) { return (key, value) }
        }
        return nil
    }

    /// The place of a key's value, for errors; takes time in proportion to the file.
    func location(ofValueForKey key: String) -> SettingsError.Location {
        switch origin {
        case .file(let path):
            do {
                let file = SettingsFile(path: path, system: SystemCalls())
                if let found = try file.location(ofValueForKey: key) { return found }
            } catch {
                // The file cannot be read any more, and was reported for that.
            }
        case .suite(let suite):
            if let found = suite.location(ofValueForKey: key) { return found }
        }
        return SettingsError.Location(file: source)
    }
}

extension SettingsSuite {
    /// The place of a stored value in the file of the suite; `nil` without a file.
    fileprivate func location(ofValueForKey key: String) -> SettingsError.Location? {
        if let found = engine.store.location(ofValueForKey: fullKey(key)) { return found }
        guard case .durable(let path) = persistence else { return nil }
        return SettingsError.Location(file: path)
    }
}
