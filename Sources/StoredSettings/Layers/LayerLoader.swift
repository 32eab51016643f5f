// SPDX-License-Identifier: Apache-2.0

/// Reads the files of a suite's layers, and remembers their last good contents, and the values of other suites.
struct LayerLoader {
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

    /// Whether a program may be about to write a file, or a lack of resources may end, so that another look is due.
    var isUnsettled: Bool {
        documents.values.contains(where: \.isUnsettled)
            || secrets.contains { $0.value.isUnsettled && directoryProblems[$0.key.directory] == nil }
            || directoryProblems.values.contains(where: \.isTransient)
    }

    /// Looks at all files, and uses the values of some suites.
    mutating func look(_ suites: [BaseSuite]) {
        for suite in suites { self.suites[suite.suite] = suite.contents }
        for source in sources {
            switch source {
            case .managed(let path): look(at: path, isManaged: true)
            case .file(let path): look(at: path)
            case .directory(let path): look(atDirectory: path)
            case .secretDirectory(let path): look(atSecretDirectory: path)
            case .commandLine, .environment, .stored, .suite: break
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
    }

    /// Looks at a secret, unless its directory cannot be used, which is one problem for all names of all settings.
    private mutating func look(atSecret path: FilePath) {
        guard directoryProblems[path.directory] == nil else { return }
        secrets[path]?.look(atTextIn: path, system)
    }

    private mutating func look(atSecretDirectory path: FilePath) {
        do {
            // This needs the permission that opening a file in it needs.
            _ = try system.status(at: path.adding("/."))
            directoryProblems[path] = nil
        } catch {
            let file = SettingsFile(path: path, system: system)
            let cause = SystemError(call: .open, path: path, number: error.number)
            let hasContents = secrets.contains { $0.key.directory == path && $0.value.contents != nil }
            directoryProblems[path] =
                .unreadableLayer(file, because: cause, hasContents: hasContents, isManaged: false)
        }
    }

    private mutating func look(atDirectory path: FilePath) {
        do {
            var names: [FilePath] = []
            if let directory = try system.openIfPresent(path, OpenFlags.readOnly | OpenFlags.directory) {
                names = try system.names(in: directory)
                    .filter { $0.bytes.first != UInt8(ascii: ".") && $0.removing(".json") != nil }
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
        }
        for name in dropIns[path, default: []] { look(at: path.appending(name), isDropIn: true) }
    }
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
                case .suite(let suite):
                    let contents = suites[suite, default: [:]]
                    return (source, [LayerDocument(origin: .suite(suite), layer: .suite, contents: contents)])
                case .directory(let path):
                    let names = dropIns[path, default: []].filter { !hidden.contains($0) }
                    hidden.formUnion(names.filter { documents[path.appending($0)]?.isHiding == true })
                    // The last one takes precedence.
                    return (source, documents(at: names.reversed().map(path.appending), .file))
                case .commandLine, .environment, .secretDirectory, .stored: return (source, [])
                }
            },
            secrets: secrets.filter(\.value.exists),
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
        var changed: Set<String> = []
        for (path, keys) in keys {
            let (before, after) = (old.secrets[path], new.secrets[path])
            let isSame = before?.contents == after?.contents && before?.problem?.message == after?.problem?.message
            if !isSame { changed.formUnion(keys) }
        }
        let (before, after) = (old.contentsByOrigin, new.contentsByOrigin)
        for origin in Set(before.keys).union(after.keys) where before[origin] != after[origin] {
            changed.formUnion([StoreChange](from: before[origin] ?? [:], to: after[origin] ?? [:]).map(\.key))
        }
        return changed
    }

    /// The paths to watch.
    var places: PathWatch.Places {
        var places = PathWatch.Places()
        for source in sources {
            switch source {
            case .managed(let path), .file(let path):
                places.files.insert(path)
            case .directory(let path):
                places.directories.insert(path)
                places.files.formUnion(dropIns[path, default: []].map(path.appending))
            case .secretDirectory(let path):
                places.directories.insert(path)
            case .commandLine, .environment, .stored, .suite:
                break
            }
        }
        // A watched directory reports the files that do not exist yet.
        for (path, file) in secrets where file.exists || !places.directories.contains(path.directory) {
            places.files.insert(path)
        }
        return places
    }
}

// MARK: - One file

/// A file of a layer as this process knows it, with its last good contents.
struct LayerFile<Contents: Collection & Equatable & Sendable>: Sendable {
    /// A version of the file.
    struct Reading: Sendable {
        var contents: Contents
        var status: FileStatus
        /// Whether any later change of the file gives it another status.
        var isCertain: Bool
    }

    /// The last good contents; `nil` when there is no file, or its contents were never known.
    var contents: Contents? { known?.contents }
    /// The error that prevents reading the file.
    private(set) var problem: SettingsError?
    /// Whether a program may be about to write the file, or a lack of resources may end, so that another look is due.
    var isUnsettled: Bool { suspectSince != nil || problem?.isTransient == true }

    /// The version that was accepted last.
    private var known: Reading?
    /// Whether the file was looked at before.
    private var isOpened = false
    /// The time at which the file was found missing, broken or emptied.
    private var suspectSince: ContinuousClock.Instant?

    /// Whether there is, or was a moment ago, a file.
    var exists: Bool { contents != nil || problem != nil }

    /// Looks at the file, and reads it if it may have changed.
    ///
    /// A file that is missing, broken or empty may be one that a program is about to write. So it is accepted only if it
    /// is still the same a moment later, except at the start.
    ///
    /// - Parameters:
    ///   - status: The status of the file; throws if it is unknown.
    ///   - read: Reads the file; `nil` if there is none.
    ///   - makeProblem: Returns the error for a failed read, and for whether there are last good contents.
    mutating func look(
        status: () throws -> FileStatus?,
        read: () throws -> Reading?,
        makeProblem: (_ error: any Error, _ hasContents: Bool) -> SettingsError
    ) {
        defer { isOpened = true }
        do {
            if let known, known.isCertain, problem == nil, suspectSince == nil, try status() == known.status {
                return
            }
            let reading = try read()
            let isEmptied = reading.map { $0.contents.isEmpty && contents?.isEmpty == false }
            guard isAccepted(isEmptied ?? exists) else { return }
            (known, problem) = (reading, nil)
        } catch {
            guard isAccepted(isOpened && problem == nil) else { return }
            problem = makeProblem(error, contents != nil)
        }
    }

    /// Returns whether the state of the file is accepted now.
    private mutating func isAccepted(_ isSuspect: Bool) -> Bool {
        let since = suspectSince ?? .now
        let isAccepted = !isSuspect || .now - since >= .seconds(SettingsFileState.settlingTime)
        suspectSince = isAccepted ? nil : since
        return isAccepted
    }
}

extension SettingsError {
    /// Whether a lack of resources prevents reading, which ends without an event.
    fileprivate var isTransient: Bool { (underlying as? SystemError)?.isTransient == true }
}

extension LayerFile<[String: StoredValue]> {
    /// Whether the file is a drop-in without values, which hides those of the same name.
    var isHiding: Bool { known?.status.isNullOrEmpty == true }

    /// Looks at a file of JSON.
    mutating func look(at file: SettingsFile, isManaged: Bool = false, isDropIn: Bool = false) {
        look {
            try file.status()
        } read: {
            if isDropIn, let status = try file.status(), status.isNullOrEmpty {
                return Reading(contents: [:], status: status, isCertain: SettingsFile.isCertain(status))
            }
            return try file.read().map { Reading(contents: $0.contents, status: $0.status, isCertain: $0.isCertain) }
        } makeProblem: { error, hasContents in
            .unreadableLayer(file, because: error, hasContents: hasContents, isManaged: isManaged)
        }
    }
}

extension LayerFile<String> {
    /// The largest secret, in bytes: 1 MiB.
    private static var limit: Int { 1 << 20 }

    /// Looks at a file of text.
    mutating func look(atTextIn path: FilePath, _ system: SystemCalls) {
        look {
            try system.status(at: path)
        } read: {
            try FileHandle.reopening { try Self.read(path, system) }
        } makeProblem: { error, hasContents in
            .unreadableSecret(path, because: error, hasContents: hasContents)
        }
    }

    /// Reads a file of text; `nil` if there is none.
    private static func read(_ path: FilePath, _ system: SystemCalls) throws -> Reading? {
        let file = try SettingsPath.open(path, system) { try system.openIfPresent($0, $1) }
        guard let handle = file else { return nil }
        let status = try system.status(of: handle)
        // Before the contents are read: a later change has another time then.
        let isCertain = SettingsFile.isCertain(status)
        guard status.isRegular else {
            let number = status.isDirectory ? Errno.isDirectory : Errno.invalidArgument
            throw SystemError(call: .open, path: path, number: number)
        }
        guard let text = String(valueIn: try system.contents(of: handle, limit: limit)) else {
            throw SettingsError.invalidValue("the file is not text in UTF-8")
        }
        return Reading(contents: text, status: status, isCertain: isCertain)
    }
}

extension String {
    /// Creates the value in a file or a stream, without a byte order mark and without one line break at the end.
    ///
    /// It is `nil` unless the bytes are UTF-8 without null characters, which text in UTF-16 contains.
    package init?(valueIn bytes: [UInt8]) {
        var bytes = bytes.withUnsafeBufferPointer { $0.startsWithByteOrderMark } ? bytes.dropFirst(3) : bytes[...]
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.contains(0) else { return nil }
        self.init(validating: bytes, as: UTF8.self)
    }
}
