// SPDX-License-Identifier: Apache-2.0

/// A source of values beneath the store of a suite: another suite, or a file of the system or of the program's package.
///
/// ```swift
/// let suite = SettingsSuite("com.acme.server", bases: [.file("/etc/acme/settings.json"), .systemWide()])
/// ```
///
/// A value of a base is used while the store has no usable value, and takes precedence over the default. It is never
/// stored. A suite takes precedence over a directory of drop-ins, that over a file, and a file over the system-wide files,
/// regardless of their order in the list. Of two bases of one kind, the first takes precedence.
///
/// A file has the form of `settings.json`: comments, trailing commas and `$schema` are allowed. A missing file or directory
/// has no values. Changes of the bases are noticed while the program runs: see <doc:OverridingSettings>.
public struct SettingsBase: Sendable, Hashable {
    enum Source: Hashable {
        case suite(SettingsSuite)
        case directory(String)
        case file(String)
        /// `nil` for the name of the suite, and for the environment of the process.
        case systemWide(name: String?, environment: [String: String]?)
    }

    let source: Source

    /// Uses the values that are stored in another suite, such as that of a fleet.
    ///
    /// ```swift
    /// let fleet = try SettingsSuite.etcd("acme", endpoints: ["http://10.0.0.1:2379"])
    /// let suite = SettingsSuite("com.acme.server", bases: [.suite(fleet)])
    /// ```
    ///
    /// Only the stored values of the other suite are used, not those of its own layers. A value that this process assigns to it
    /// is visible at once, and a change by another process a moment after the other suite shows it.
    ///
    /// - Parameter suite: The other suite, or a group of one. A suite with the same store has no effect.
    /// - Returns: The base. The suite is opened with the first setting.
    public static func suite(_ suite: SettingsSuite) -> SettingsBase {
        SettingsBase(source: .suite(suite))
    }

    /// Reads values from a file.
    ///
    /// - Parameter path: The path of the file. A relative path is resolved against the current directory when a suite is
    ///   created.
    /// - Returns: The base. The file is read with the first setting.
    public static func file(_ path: String) -> SettingsBase {
        SettingsBase(source: .file(path))
    }

    /// Reads values from the files of a directory whose names end with `.json` and do not start with a dot.
    ///
    /// The files are read in the order of their names, compared byte by byte. For each key, the last file that has a value
    /// takes precedence. A file that is empty, or a link to `/dev/null`, hides the files of its name in later directories.
    ///
    /// - Parameter path: The path of the directory, such as `/etc/acme/settings.d`.
    /// - Returns: The base. The files are read with the first setting.
    public static func directory(_ path: String) -> SettingsBase {
        SettingsBase(source: .directory(path))
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
    /// - Returns: The base. The files are read with the first setting.
    public static func systemWide(name: String? = nil, environment: [String: String]? = nil) -> SettingsBase {
        SettingsBase(source: .systemWide(name: name, environment: environment))
    }

    /// The position of the base among the kinds, highest precedence first.
    fileprivate var rank: Int {
        switch source {
        case .suite: 0
        case .directory: 1
        case .file: 2
        case .systemWide: 3
        }
    }
}

extension [SettingsBase] {
    /// The bases in order of precedence.
    var byPrecedence: [SettingsBase] { (0...3).flatMap { rank in filter { $0.rank == rank } } }
}

extension SettingsLayer {
    /// The layer of the files of an administrator, whose values cannot be changed.
    public static let managed = SettingsLayer(description: "managed")
    /// The layer of files that have one secret each.
    public static let secretFile = SettingsLayer(description: "secret file")
    /// The layer of files and suites beneath the suite's store.
    public static let base = SettingsLayer(description: "base")
}
