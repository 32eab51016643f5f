// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Layers.md, "The list of sources is the order".

/// A source of the values of a suite, in a list of which the first one with a usable value wins.
///
/// ```swift
/// let suite = SettingsSuite(
///     "com.acme.server",
///     sources: [.commandLine(), .environment(prefix: "ACME_"), .secrets(), .stored, .file("/etc/acme/settings.json")]
/// )
/// ```
///
/// Reading stores no value of another source. Sources before ``stored`` take precedence over the values that are
/// set, and those after it are used where none is. Without ``stored`` in the list, its place is before the first suite,
/// directory or file, or at the end. Then only flags, variables and secrets hide what is set. The default of a setting comes last.
///
/// An administrator's file with ``managed(_:)`` comes first. Behind other sources, it still takes precedence, and that is reported.
///
/// Files have the form of `settings.json`: comments, trailing commas and `$schema` are allowed. A missing file or directory
/// has no values. Changes are noticed while the program runs. See <doc:OverridingSettings>, also for the forms of keys and
/// values in texts.
public struct SettingsSource: Sendable, Hashable {
    fileprivate enum Kind: Hashable {
        case source(LayerSource)
        /// `nil` for the name of the suite, and for the environment of the process.
        case systemWide(name: String?, environment: [String: String]?)
    }

    fileprivate let kind: Kind

    private init(_ source: LayerSource) {
        kind = .source(source)
    }

    private init(kind: Kind) {
        self.kind = kind
    }

    /// The values that are stored in the suite: those that the program sets.
    public static let stored = SettingsSource(.stored)

    /// Reads values from a file of an administrator, which programs cannot change.
    ///
    /// A set or a removal of a key in the file fails with ``SettingsError/Code/managed``, even if the setting cannot use the
    /// value. While the file exists and cannot be read, its last good values remain managed. If it could not be read since the
    /// program has started, no key of the suite can be changed. A missing file manages nothing.
    ///
    /// Its directory and its parents must be writable for administrators only.
    ///
    /// - Parameter path: The path of the file, such as `/etc/acme/managed.json`.
    /// - Returns: The source. The file is read with the first setting, and again when it changes.
    public static func managed(_ path: String) -> SettingsSource {
        SettingsSource(.managed(.absolute(path)))
    }

    /// Reads values from the arguments of the process.
    ///
    /// - Parameter arguments: Other arguments, without the name of the program: for tests, and for programs that parse some
    ///   arguments themselves.
    /// - Returns: The source. The arguments are parsed when a setting is first read.
    public static func commandLine(_ arguments: [String]? = nil) -> SettingsSource {
        SettingsSource(.commandLine(arguments))
    }

    /// Reads values from the environment of the process.
    ///
    /// - Parameters:
    ///   - variables: Other variables, by name: for tests.
    ///   - prefix: The prefix of the names of all variables, such as `ACME_`. It is used unchanged.
    ///   - files: Whether a variable may name a file with the value instead: `ACME_TOKEN_FILE` for `ACME_TOKEN`, unless it
    ///     belongs to another setting. The file is read like that of a secret, in the layer ``SettingsLayer/secretFile``.
    /// - Returns: The source. A variable is read once, when its setting is first read.
    public static func environment(
        _ variables: [String: String]? = nil,
        prefix: String,
        files: Bool = false
    ) -> SettingsSource {
        SettingsSource(.environment(variables, prefix: prefix, hasFiles: files))
    }

    /// Reads values from the files of a directory that a service manager or a container provides: `$CREDENTIALS_DIRECTORY`,
    /// or `/run/secrets` if the variable is not set.
    ///
    /// A file has the name of a key (`db.password`), or of its variable in capital or small letters, with or without the
    /// prefix (`ACME_DB_PASSWORD`, `db_password`), or of its flag (`db-password`). Its contents are the value, without a
    /// byte order mark and a line break at the end.
    ///
    /// - Parameter environment: The variables to use instead of those of the process: for tests.
    /// - Returns: The source. The file of a setting is read with the setting, and again when it changes.
    public static func secrets(environment: [String: String]? = nil) -> SettingsSource {
        let variable = FilePath.variable("CREDENTIALS_DIRECTORY", in: environment)
        // An empty or relative path must not lead to files of the current directory.
        return SettingsSource(.secretDirectory(variable.flatMap { $0.isAbsolute ? $0 : nil } ?? "/run/secrets"))
    }

    /// Reads values from the files of a directory, each of which has the value of one key: see ``secrets(environment:)``.
    ///
    /// - Parameter directory: The path of the directory.
    /// - Returns: The source.
    public static func secrets(directory: String) -> SettingsSource {
        SettingsSource(.secretDirectory(.absolute(directory)))
    }

    /// Uses the values that are stored in another suite, such as that of a fleet.
    ///
    /// ```swift
    /// let fleet = try SettingsSuite.etcd("acme", endpoints: ["http://10.0.0.1:2379"])
    /// let suite = SettingsSuite("com.acme.server", sources: [.stored, .suite(fleet)])
    /// ```
    ///
    /// Only the stored values of the other suite are used, not those of its own sources. A value that this process assigns to
    /// it is visible at once, and a change by another process a moment after the other suite shows it.
    ///
    /// - Parameter suite: The other suite, or a group of one. A suite with the same store has no effect.
    /// - Returns: The source. The suite is opened with the first setting.
    public static func suite(_ suite: SettingsSuite) -> SettingsSource {
        SettingsSource(.suite(suite))
    }

    /// Reads values from a file.
    ///
    /// - Parameter path: The path of the file. A relative path is resolved against the current directory now.
    /// - Returns: The source. The file is read with the first setting.
    public static func file(_ path: String) -> SettingsSource {
        SettingsSource(.file(.absolute(path)))
    }

    /// Reads values from the files of a directory whose names end with `.json` and do not start with a dot.
    ///
    /// The files are read in the order of their names, compared byte by byte. For each key, the last file that has a value
    /// takes precedence. A file that is empty, or a link to `/dev/null`, hides the files of its name in later directories.
    ///
    /// - Parameter path: The path of the directory, such as `/etc/acme/settings.d`.
    /// - Returns: The source. The files are read with the first setting.
    public static func directory(_ path: String) -> SettingsSource {
        SettingsSource(.directory(.absolute(path)))
    }

    /// Reads values from the system-wide files of a suite.
    ///
    /// These are the files `settings.json` in a directory with the name of the suite, in each directory of
    /// `$XDG_CONFIG_DIRS`. The first of them that has a value takes precedence. Without the variable, the only directory is
    /// `/etc/xdg`.
    ///
    /// - Parameters:
    ///   - name: The name of the directory; `nil` for the name of the suite.
    ///   - environment: The variables to use instead of those of the process: for tests.
    /// - Returns: The source. The files are read with the first setting.
    public static func systemWide(name: String? = nil, environment: [String: String]? = nil) -> SettingsSource {
        SettingsSource(kind: .systemWide(name: name, environment: environment))
    }
}

extension SettingsSource: CustomReflectable {
    /// A mirror without children: given arguments and variables may contain secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension SettingsSource {
    /// Whether the store comes before the source where a list does not name it.
    fileprivate var isBeneathStore: Bool {
        switch kind {
        case .source(.suite), .source(.directory), .source(.file), .systemWide: true
        case .source: false
        }
    }

    /// Returns the source for a suite: system-wide files depend on its name.
    func resolved(suiteName: String) -> [LayerSource] {
        switch kind {
        case .source(let source): return [source]
        case .systemWide(let name, let environment):
            let directory = SettingsLocation.directoryName(forSuite: name ?? suiteName)
            guard !directory.isEmpty else { return [] }
            let variable = FilePath.variable("XDG_CONFIG_DIRS", in: environment)?.bytes ?? []
            let list = variable.isEmpty ? Array("/etc/xdg".utf8) : variable
            return list.split(separator: UInt8(ascii: ":")).map { FilePath(bytes: $0) }.filter(\.isAbsolute)
                .map { .file($0.appending(FilePath(directory)).appending(SettingsLocation.fileName)) }
        }
    }
}

extension [SettingsSource] {
    /// The list with ``SettingsSource/stored`` in it.
    var withStore: [SettingsSource] {
        guard !contains(.stored) else { return self }
        var sources = self
        // By the kinds alone: the same list has the same order in every environment.
        sources.insert(.stored, at: firstIndex(where: \.isBeneathStore) ?? endIndex)
        return sources
    }
}

extension FilePath {
    fileprivate static func absolute(_ path: String) -> FilePath {
        SettingsLocation.absolute(FilePath(path)).withoutTrailingSlashes
    }

    /// The path in a variable of an environment; `nil` for that of the process.
    static func variable(_ name: String, in environment: [String: String]?) -> FilePath? {
        guard let environment else { return SystemCalls.environmentPath(name) }
        return environment[name].map { FilePath($0) }
    }
}

extension SettingsLayer {
    /// The layer of the files of an administrator, whose values cannot be changed.
    public static let managed = SettingsLayer(description: "managed")
    /// The layer of the program's arguments.
    public static let commandLine = SettingsLayer(description: "command line")
    /// The layer of the program's environment variables.
    public static let environment = SettingsLayer(description: "environment")
    /// The layer of files that have one secret each.
    public static let secretFile = SettingsLayer(description: "secret file")
    /// The layer of other suites.
    public static let suite = SettingsLayer(description: "suite")
    /// The layer of files and directories with the values of several keys.
    public static let file = SettingsLayer(description: "file")
}
