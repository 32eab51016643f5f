// SPDX-License-Identifier: Apache-2.0

/// A place outside of the store that gives values for this run of the program: its arguments, or its environment.
///
/// ```swift
/// let suite = SettingsSuite("com.acme.server", overrides: [.commandLine(), .environment(prefix: "ACME_")])
/// ```
///
/// What it gives is read in place of what is stored, and is never stored itself. The command line wins over the
/// environment, in whichever order they are listed; of two of one kind the first wins. See <doc:OverridingSettings> for
/// how keys and values are spelt.
public struct SettingsOverride: Sendable, Hashable {
    enum Source: Hashable {
        /// `nil` for those of the process.
        case commandLine([String]?)
        /// `nil` for that of the process.
        case environment([String: String]?, prefix: String)
    }

    let source: Source

    /// The layer of the values that it gives.
    public var layer: SettingsLayer {
        switch source {
        case .commandLine: .commandLine
        case .environment: .environment
        }
    }
}

extension SettingsOverride {
    /// Takes values from the arguments of the process.
    ///
    /// - Returns: The override. The arguments are looked at when a setting is first read.
    public static func commandLine() -> SettingsOverride {
        SettingsOverride(source: .commandLine(nil))
    }

    /// Takes values from some arguments: for tests, and for programs that take some away themselves.
    ///
    /// - Parameter arguments: The arguments, without the name of the program.
    /// - Returns: The override.
    public static func commandLine(_ arguments: [String]) -> SettingsOverride {
        SettingsOverride(source: .commandLine(arguments))
    }

    /// Takes values from the environment of the process.
    ///
    /// - Parameter prefix: What the names of all variables begin with, such as `ACME_`; it is taken as it is.
    /// - Returns: The override. A variable is looked up when its setting is first read, and not again.
    public static func environment(prefix: String) -> SettingsOverride {
        SettingsOverride(source: .environment(nil, prefix: prefix))
    }

    /// Takes values from some variables: for tests.
    ///
    /// - Parameters:
    ///   - variables: The values of the variables, by name.
    ///   - prefix: What the names of all variables begin with.
    /// - Returns: The override.
    public static func environment(_ variables: [String: String], prefix: String) -> SettingsOverride {
        SettingsOverride(source: .environment(variables, prefix: prefix))
    }
}

extension SettingsLayer {
    /// The arguments of the program.
    public static let commandLine = SettingsLayer(description: "command line")
    /// The variables of the program's environment.
    public static let environment = SettingsLayer(description: "environment")
}
