// SPDX-License-Identifier: Apache-2.0

/// Reads the files of a suite's layers, and remembers their last good contents, and the values of other suites.
struct LayerLoader {
    /// The paths that decide about the contents.
    struct Places: Equatable {
        var files: [FilePath] = []
        var directories: [FilePath] = []
    }

    private let sources: [LayerSource]
    private let system: SystemCalls
    private var documents: [FilePath: LayerFile<[String: StoredValue]>] = [:]
    /// The names of the drop-ins of each directory when it could be read last.
    private var dropIns: [FilePath: [FilePath]] = [:]
    private var directoryProblems: [FilePath: SettingsError] = [:]
    private var secrets: [FilePath: LayerFile<String>] = [:]
    /// The keys whose secret may be in a file.
    private var keys: [FilePath: Set<String>] = [:]
    /// The values of the suites among the layers.
    private var suites: [SettingsSuite: [String: StoredValue]] = [:]
    private var lastNumber: UInt64 = 0

    init(_ sources: [LayerSource], _ system: SystemCalls) {
        self.sources = sources
        self.system = system
    }

    /// Whether a program may be about to write a file, so that another look is due.
    private(set) var isUnsettled = false

    /// Looks at all files, and uses the values of some suites.
    mutating func look(_ suites: [BaseSuite]) {
        isUnsettled = false
        for suite in suites { self.suites[suite.suite] = suite.contents }
        for source in sources {
            switch source {
            case .managed(let path): look(at: path, isManaged: true)
            case .file(let path): look(at: path)
            case .directory(let path): look(atDirectory: path)
            case .commandLine, .environment, .secretDirectory, .stored, .suite: break
            }
        }
        for path in secrets.keys { look(atSecret: path) }
    }

    /// Adds the files in which the secret of a setting may be.
    ///
    /// - Returns: Whether one of them is new.
    mutating func add(_ names: SecretNames, ofKey key: String) -> Bool {
        var isNew = false
        for path in names.paths {
            keys[path, default: []].insert(key)
            guard secrets[path] == nil else { continue }
            secrets[path] = LayerFile()
            look(atSecret: path)
            isNew = true
        }
        return isNew
    }

    private mutating func look(at path: FilePath, isManaged: Bool = false, isDropIn: Bool = false) {
        let file = SettingsFile(path: path, system: system)
        documents[path, default: LayerFile()].look(at: file, isManaged: isManaged, isDropIn: isDropIn)
        if documents[path]?.isUnsettled == true { isUnsettled = true }
    }

    private mutating func look(atSecret path: FilePath) {
        secrets[path, default: LayerFile()].look(atTextIn: path, system)
        if secrets[path]?.isUnsettled == true { isUnsettled = true }
    }

    private mutating func look(atDirectory path: FilePath) {
        do {
            var names: [FilePath] = []
            if let directory = try system.openIfPresent(path, OpenFlags.readOnly | OpenFlags.directory) {
                names = try system.names(in: directory).filter(\.isDropIn)
            }
            directoryProblems[path] = nil
            // A file that is missing may be about to come back.
            let known = dropIns[path, default: []].filter { documents[path.appending($0)]?.exists == true }
            dropIns[path] = Set(names + known).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        } catch {
            let file = SettingsFile(path: path, system: system)
            let hasContents = dropIns[path] != nil
            directoryProblems[path] =
                .unreadableLayer(file, because: error, hasContents: hasContents, isManaged: false)
            if error.isTransient { isUnsettled = true }
        }
        for name in dropIns[path, default: []] { look(at: path.appending(name), isDropIn: true) }
    }
}

extension FilePath {
    fileprivate var isDropIn: Bool { bytes.first != UInt8(ascii: ".") && removing(".json") != nil }
}

// MARK: - Results

extension LayerLoader {
    /// Returns the contents, as of the last look.
    mutating func makeSnapshot() -> LayerSnapshot {
        lastNumber += 1
        var hidden: Set<FilePath> = []
        return LayerSnapshot(
            number: lastNumber,
            groups: sources.map { source in
                switch source {
                case .managed(let path): return (source, documents(at: [path], .managed))
                case .file(let path): return (source, documents(at: [path], .file))
                case .suite(let suite): return (source, [LayerDocument(suite, contents: suites[suite, default: [:]])])
                case .directory(let path):
                    let names = dropIns[path, default: []].filter { !hidden.contains($0) }
                    hidden.formUnion(names.filter { documents[path.appending($0)]?.isHiding == true })
                    // The last one takes precedence.
                    return (source, documents(at: names.reversed().map(path.appending), .file))
                case .commandLine, .environment, .secretDirectory, .stored: return (source, [])
                }
            },
            secrets: secrets.compactMapValues { file in
                file.exists ? LayerSecret(text: file.contents, problem: file.problem) : nil
            },
            directoryProblems: directoryProblems.sorted { $0.key.description < $1.key.description }.map(\.value)
        )
    }

    private func documents(at paths: [FilePath], _ layer: SettingsLayer) -> [LayerDocument] {
        paths.compactMap { path in
            guard let file = documents[path], file.exists else { return nil }
            return LayerDocument(
                origin: .file(path),
                layer: layer,
                contents: file.contents ?? [:],
                problem: file.problem,
                isUnknown: file.contents == nil
            )
        }
    }

    /// The keys whose values differ between two snapshots.
    func changedKeys(from old: LayerSnapshot, to new: LayerSnapshot) -> Set<String> {
        var changed = new.changedKeys(since: old)
        for (path, keys) in keys {
            let (before, after) = (old.secrets[path], new.secrets[path])
            if before?.text != after?.text || (before == nil) != (after == nil) { changed.formUnion(keys) }
        }
        return changed
    }

    /// The paths to watch.
    var places: Places {
        var places = Places()
        for source in sources {
            switch source {
            case .managed(let path), .file(let path):
                places.files.append(path)
            case .directory(let path):
                places.directories.append(path)
                places.files += dropIns[path, default: []].map(path.appending)
            case .secretDirectory(let path):
                places.directories.append(path)
            case .commandLine, .environment, .stored, .suite:
                break
            }
        }
        let directories = Set(places.directories)
        // A watched directory reports the files that do not exist yet.
        places.files += secrets.filter { $0.value.exists || !directories.contains($0.key.directory) }.map(\.key)
        return places
    }
}
