// SPDX-License-Identifier: Apache-2.0

/// A source of values that take precedence over the store of a suite: an administrator's file, the program's arguments or
/// environment, or files with secrets.
///
/// ```swift
/// let suite = SettingsSuite("com.acme.server", overrides: [.commandLine(), .environment(prefix: "ACME_"), .secrets()])
/// ```
///
/// An override takes precedence over the stored value, and is never stored itself. Managed values take precedence over the
/// command line, the command line over the environment, and the environment over secret files, regardless of their order in
/// the list. Of two overrides of one kind, the first takes precedence. See <doc:OverridingSettings> for the format of keys
/// and values.
public struct SettingsOverride: Sendable, Hashable {
    enum Source: Hashable {
        case managed(String)
        /// `nil` for the arguments of the process.
        case commandLine([String]?)
        /// `nil` for the environment of the process.
        case environment([String: String]?, prefix: String, hasFiles: Bool)
        case secrets(SecretDirectory)
    }

    enum SecretDirectory: Hashable {
        case path(String)
        /// `nil` for the environment of the process.
        case environment([String: String]?)
    }

    let source: Source

    /// The layer of the override's values.
    ///
    /// The values of the files that variables name are in the layer ``SettingsLayer/secretFile``.
    public var layer: SettingsLayer {
        switch source {
        case .managed: .managed
        case .commandLine: .commandLine
        case .environment: .environment
        case .secrets: .secretFile
        }
    }
}

extension SettingsOverride {
    /// Reads values from a file of an administrator, which programs cannot change.
    ///
    /// A set or a removal of a key in the file fails with ``SettingsError/Code/managed``, even if the setting cannot use the
    /// value. While the file exists and cannot be read, its last good values remain managed. If it could not be read since the
    /// program has started, no key of the suite can be changed. A missing file manages nothing.
    ///
    /// The file has the form of `settings.json`. Its directory and its parents must be writable for administrators only.
    ///
    /// - Parameter path: The path of the file, such as `/etc/acme/managed.json`.
    /// - Returns: The override. The file is read with the first setting, and again when it changes.
    public static func managed(_ path: String) -> SettingsOverride {
        SettingsOverride(source: .managed(path))
    }

    /// Reads values from the arguments of the process.
    ///
    /// - Returns: The override. The arguments are parsed when a setting is first read.
    public static func commandLine() -> SettingsOverride {
        SettingsOverride(source: .commandLine(nil))
    }

    /// Reads values from the given arguments: for tests, and for programs that parse some arguments themselves.
    ///
    /// - Parameter arguments: The arguments, without the name of the program.
    /// - Returns: The override.
    public static func commandLine(_ arguments: [String]) -> SettingsOverride {
        SettingsOverride(source: .commandLine(arguments))
    }

    /// Reads values from the environment of the process.
    ///
    /// - Parameters:
    ///   - prefix: The prefix of the names of all variables, such as `ACME_`. It is used unchanged.
    ///   - files: Whether a variable may name a file with the value instead: `ACME_TOKEN_FILE` for `ACME_TOKEN`, unless it
    ///     belongs to another setting. The file is read like that of a secret, in the layer ``SettingsLayer/secretFile``.
    /// - Returns: The override. A variable is read once, when its setting is first read.
    public static func environment(prefix: String, files: Bool = false) -> SettingsOverride {
        SettingsOverride(source: .environment(nil, prefix: prefix, hasFiles: files))
    }

    /// Reads values from the given variables: for tests.
    ///
    /// - Parameters:
    ///   - variables: The values of the variables, by name.
    ///   - prefix: The prefix of the names of all variables.
    ///   - files: Whether a variable may name a file with the value instead.
    /// - Returns: The override.
    public static func environment(
        _ variables: [String: String],
        prefix: String,
        files: Bool = false
    ) -> SettingsOverride {
        SettingsOverride(source: .environment(variables, prefix: prefix, hasFiles: files))
    }

    /// Reads values from the files of a directory that a service manager or a container provides: `$CREDENTIALS_DIRECTORY`,
    /// or `/run/secrets` if the variable is not set.
    ///
    /// A file has the name of a key (`db.password`), or of its variable in capital or small letters, with or without the
    /// prefix (`ACME_DB_PASSWORD`, `db_password`), or of its flag (`db-password`). Its contents are the value, without a
    /// byte order mark and a line break at the end.
    ///
    /// - Parameter environment: The variables to use instead of those of the process: for tests.
    /// - Returns: The override. The file of a setting is read with the setting, and again when it changes.
    public static func secrets(environment: [String: String]? = nil) -> SettingsOverride {
        SettingsOverride(source: .secrets(.environment(environment)))
    }

    /// Reads values from the files of a directory, each of which has the value of one key: see ``secrets(environment:)``.
    ///
    /// - Parameter directory: The path of the directory.
    /// - Returns: The override.
    public static func secrets(directory: String) -> SettingsOverride {
        SettingsOverride(source: .secrets(.path(directory)))
    }
}

extension [SettingsOverride] {
    /// The overrides in order of precedence.
    var byPrecedence: [SettingsOverride] {
        [SettingsLayer.managed, .commandLine, .environment, .secretFile]
            .flatMap { layer in filter { $0.layer == layer } }
    }
}

extension SettingsLayer {
    /// Whether a value of the layer is used in place of the stored one.
    package var hidesStore: Bool { [.managed, .commandLine, .environment, .secretFile, .lastGood].contains(self) }

    /// The layer of the program's arguments.
    public static let commandLine = SettingsLayer(description: "command line")
    /// The layer of the program's environment variables.
    public static let environment = SettingsLayer(description: "environment")
}
