// SPDX-License-Identifier: Apache-2.0

/// A source of a suite, with an absolute path.
package enum LayerSource: Hashable, Sendable {
    /// A file of managed values.
    case managed(FilePath)
    /// Flags; `nil` for the arguments of the process.
    case commandLine([String]?)
    /// Variables, which may name files with secrets; `nil` for the environment of the process.
    case environment([String: String]?, prefix: String, hasFiles: Bool)
    /// A directory with a file for each secret.
    case secretDirectory(FilePath)
    /// The store of the suite.
    case stored
    /// The stored values of another suite.
    case suite(SettingsSuite)
    /// A directory of drop-ins.
    case directory(FilePath)
    case file(FilePath)

    /// The suite, if this is one.
    var suite: SettingsSuite? {
        if case .suite(let suite) = self { suite } else { nil }
    }

    var isManaged: Bool {
        if case .managed = self { true } else { false }
    }

    /// Whether a setting has a flag of its own here.
    package var hasFlags: Bool {
        if case .commandLine = self { true } else { false }
    }

    /// Whether secret files may have values.
    var hasSecretFiles: Bool {
        switch self {
        case .secretDirectory: true
        case .environment(_, _, let hasFiles): hasFiles
        default: false
        }
    }

    /// Whether a setting has a variable of its own here.
    package var hasVariables: Bool {
        if case .environment = self { true } else { false }
    }

    /// Whether the values can change while the program runs.
    var canChange: Bool {
        switch self {
        case .managed, .secretDirectory, .suite, .directory, .file: true
        case .environment(_, _, let hasFiles): hasFiles
        case .commandLine, .stored: false
        }
    }
}

/// The files in which the secret of one setting may be, those that take precedence first.
struct SecretNames: Sendable {
    /// The files with their sources, in order of precedence; one that a variable names, such as `ACME_TOKEN_FILE`, has to exist.
    private(set) var files: [(source: LayerSource, path: FilePath, variable: String?)] = []
    /// The variables that would name files, and belong to other settings, with the keys of those.
    private(set) var taken: [(variable: String, owner: String)] = []

    /// All files, those that take precedence first.
    var paths: [FilePath] { files.map(\.path) }

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
                self.files += names.map { (source, directory.appending(FilePath($0)), nil) }
            case .environment(let variables, let prefix, hasFiles: true):
                let current = variable ?? OverrideName.variable(forKey: keys.current, prefix: prefix)
                let old = keys.old.map { OverrideName.variable(forKey: $0, prefix: prefix) }
                for case let name? in [current] + old {
                    let name = Self.variable(forFileOf: name)
                    guard let path = FilePath.variable(name, in: variables), !path.isEmpty,
                        !ServiceVariables.contains(name, in: variables)
                    else { continue }
                    if let owner = owners[name] {
                        taken.append((name, owner))
                    } else {
                        self.files.append((source, files?.directory?.appending(path) ?? path, name))
                    }
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
