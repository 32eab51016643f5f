// SPDX-License-Identifier: Apache-2.0

/// A source of values for one run of a program: its arguments or its environment.
///
/// ```swift
/// let suite = SettingsSuite("com.acme.server", overrides: [.commandLine(), .environment(prefix: "ACME_")])
/// ```
///
/// An override takes precedence over the stored value, and is never stored itself. The command line takes precedence
/// over the environment, regardless of their order in the list. Of two overrides of one kind, the first takes
/// precedence. See <doc:OverridingSettings> for the format of keys and values.
public struct SettingsOverride: Sendable, Hashable {
    enum Source: Hashable {
        /// `nil` for the arguments of the process.
        case commandLine([String]?)
        /// `nil` for the environment of the process.
        case environment([String: String]?, prefix: String)
    }

    let source: Source

    /// The layer of the override's values.
    public var layer: SettingsLayer {
        switch source {
        case .commandLine: .commandLine
        case .environment: .environment
        }
    }
}

extension SettingsOverride {
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
    /// - Parameter prefix: The prefix of the names of all variables, such as `ACME_`. It is used unchanged.
    /// - Returns: The override. A variable is read once, when its setting is first read.
    public static func environment(prefix: String) -> SettingsOverride {
        SettingsOverride(source: .environment(nil, prefix: prefix))
    }

    /// Reads values from the given variables: for tests.
    ///
    /// - Parameters:
    ///   - variables: The values of the variables, by name.
    ///   - prefix: The prefix of the names of all variables.
    /// - Returns: The override.
    public static func environment(_ variables: [String: String], prefix: String) -> SettingsOverride {
        SettingsOverride(source: .environment(variables, prefix: prefix))
    }
}

extension SettingsLayer {
    /// The layer of the program's arguments.
    public static let commandLine = SettingsLayer(description: "command line")
    /// The layer of the program's environment variables.
    public static let environment = SettingsLayer(description: "environment")
}
