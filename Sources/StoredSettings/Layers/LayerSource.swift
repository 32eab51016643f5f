// SPDX-License-Identifier: Apache-2.0

/// A place of files with values of a layer, with an absolute path.
enum LayerSource: Hashable {
    /// A file of managed values.
    case managed(FilePath)
    /// A directory with a file for each secret.
    case secretDirectory(FilePath)
    /// Variables that name a file with a secret; `nil` for the environment of the process.
    case secretVariables([String: String]?, prefix: String)
    /// A directory of drop-ins beneath the store.
    case baseDirectory(FilePath)
    /// A file beneath the store.
    case base(FilePath)
    /// The stored values of another suite.
    case suite(SettingsSuite)

    /// Returns the sources of some overrides and bases, highest precedence first.
    ///
    /// - Parameters:
    ///   - overrides: The overrides, in order of precedence.
    ///   - bases: The bases, in order of precedence.
    ///   - name: The name of the suite.
    /// - Returns: The sources; empty if no layer has files, and none is a suite.
    static func all(_ overrides: [SettingsOverride], _ bases: [SettingsBase], suiteName name: String) -> [LayerSource] {
        // A variable is a statement about one secret, so it comes before the directories.
        let secrets = overrides.flatMap(\.secretVariables) + overrides.flatMap(\.secretDirectories)
        return overrides.flatMap(\.managedFiles) + secrets + bases.flatMap { $0.sources(suiteName: name) }
    }

    /// The suite, if this is one.
    var suite: SettingsSuite? {
        if case .suite(let suite) = self { suite } else { nil }
    }
}

extension SettingsOverride {
    fileprivate var managedFiles: [LayerSource] {
        guard case .managed(let path) = source else { return [] }
        return [.managed(.absolute(path))]
    }

    fileprivate var secretVariables: [LayerSource] {
        guard case .environment(let variables, let prefix, hasFiles: true) = source else { return [] }
        return [.secretVariables(variables, prefix: prefix)]
    }

    fileprivate var secretDirectories: [LayerSource] {
        switch source {
        case .secrets(.path(let path)):
            return [.secretDirectory(.absolute(path))]
        case .secrets(.environment(let environment)):
            let variable = FilePath.variable("CREDENTIALS_DIRECTORY", in: environment)
            // An empty or relative path must not lead to files of the current directory.
            return [.secretDirectory(variable.flatMap { $0.isAbsolute ? $0 : nil } ?? "/run/secrets")]
        default:
            return []
        }
    }
}

extension SettingsBase {
    fileprivate func sources(suiteName: String) -> [LayerSource] {
        switch source {
        case .suite(let suite): return [.suite(suite)]
        case .directory(let path): return [.baseDirectory(.absolute(path))]
        case .file(let path): return [.base(.absolute(path))]
        case .systemWide(let name, let environment):
            let directory = SettingsLocation.fileName(forSuite: name ?? suiteName)
            guard !directory.isEmpty else { return [] }
            let variable = FilePath.variable("XDG_CONFIG_DIRS", in: environment)?.bytes ?? []
            let list = variable.isEmpty ? Array("/etc/xdg".utf8) : variable
            return list.split(separator: UInt8(ascii: ":")).map { FilePath(bytes: $0) }.filter(\.isAbsolute)
                .map { .base($0.appending(FilePath(directory)).appending(SettingsLocation.fileName)) }
        }
    }
}

extension FilePath {
    fileprivate static func absolute(_ path: String) -> FilePath {
        SettingsLocation.absolute(FilePath(path))
    }

    /// The path in a variable of an environment; `nil` for that of the process.
    fileprivate static func variable(_ name: String, in environment: [String: String]?) -> FilePath? {
        guard let environment else { return SystemCalls.environmentPath(name) }
        return environment[name].map { FilePath($0) }
    }
}

/// The files in which the secret of one setting may be, those that take precedence first.
struct SecretNames: Sendable {
    /// A file that a variable names.
    struct Named: Sendable {
        let path: FilePath
        /// The name of the variable, such as `ACME_TOKEN_FILE`.
        let variable: String
    }

    /// The files that variables name, which have to exist.
    private(set) var named: [Named] = []
    /// The files in directories, which need not exist.
    private(set) var possible: [FilePath] = []
    /// The variables that would name files, and belong to other settings, with the keys of those.
    private(set) var taken: [(variable: String, owner: String)] = []

    /// All files, those that take precedence first.
    var paths: [FilePath] { named.map(\.path) + possible }

    /// - Parameters:
    ///   - keys: The keys of the setting: the names that follow from old ones come after those of the current one.
    ///   - variable: The name of its variable according to its traits; `nil` for the one that is derived from the key.
    ///   - files: The files of the suite.
    ///   - prefixes: The prefixes of the variables of the suite.
    init(of keys: StoredKeys, variable: String?, in files: LayerFiles?, prefixes: [String]) {
        var names: [String] = []
        func add(_ name: String?) {
            guard let name, !names.contains(name), FilePath(name).isFileName else { return }
            names.append(name)
        }
        for key in keys.all {
            add(key)
            if key == keys.current { add(variable) }
            for prefix in prefixes + [""] {
                let name = OverrideName.variable(forKey: key, prefix: prefix)
                add(name)
                add(name?.lowercased())
            }
            add(OverrideName.flag(forKey: key))
        }
        let owners = files.map { files in files.owners.withLock { $0 } } ?? [:]
        for source in files?.sources ?? [] {
            switch source {
            case .secretDirectory(let directory):
                possible += names.map { directory.appending(FilePath($0)) }
            case .secretVariables(let variables, let prefix):
                let current = variable ?? OverrideName.variable(forKey: keys.current, prefix: prefix)
                let old = keys.old.map { OverrideName.variable(forKey: $0, prefix: prefix) }
                for case let name? in [current] + old {
                    let name = Self.variable(forFileOf: name)
                    guard let path = FilePath.variable(name, in: variables), !path.isEmpty,
                        !ServiceVariables.contains(name, in: variables)
                    else { continue }
                    let file = Named(path: SettingsLocation.absolute(path), variable: name)
                    if let owner = owners[name] { taken.append((name, owner)) } else { named.append(file) }
                }
            default:
                break
            }
        }
    }

    /// The variable with the path of a file that has the value of another variable.
    static func variable(forFileOf name: String) -> String { name + "_FILE" }
}

extension FilePath {
    /// Whether the path is the name of a file in a directory, and leads to no other directory.
    fileprivate var isFileName: Bool { isValid && !bytes.contains(UInt8(ascii: "/")) && namesFile }
}
