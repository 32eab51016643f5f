// SPDX-License-Identifier: Apache-2.0

/// What a setting is for, in words for the people who operate the program.
///
/// A string literal is the summary:
///
/// ```swift
/// @DefaultStorage(key: "port", help: "Port to listen on.") var port = 8080
/// @DefaultStorage(key: "timeout", help: SettingHelp("Time for one request.", unit: "seconds")) var timeout = 30
/// ```
///
/// It is part of every output of a ``SettingsCatalog``. It costs nothing when the setting is read.
public struct SettingHelp: Sendable, Hashable {
    /// One sentence; empty for a setting without help.
    public let summary: String
    /// `nil` if all of them are empty, as in most declarations: then a declaration copies no more than the summary.
    private let details: Details?

    /// One reference, so that a declaration copies no strings.
    private indirect enum Details: Hashable {
        case texts(discussion: String, unit: String)
    }

    /// Further sentences, for the output that has room for them.
    public var discussion: String {
        if case .texts(let discussion, _) = details { discussion } else { "" }
    }

    /// The unit of the value, such as `seconds`; empty for a value without a unit.
    public var unit: String {
        if case .texts(_, let unit) = details { unit } else { "" }
    }

    /// Creates the help of a setting.
    ///
    /// - Parameters:
    ///   - summary: One sentence.
    ///   - discussion: Further sentences.
    ///   - unit: The unit of the value.
    public init(_ summary: String, discussion: String = "", unit: String = "") {
        self.summary = summary
        let isShort = discussion.isEmpty && unit.isEmpty
        details = isShort ? nil : .texts(discussion: discussion, unit: unit)
    }
}

extension SettingHelp: ExpressibleByStringInterpolation {
    /// Creates help that has only a summary.
    public init(stringLiteral summary: String) {
        self.summary = summary
        details = nil
    }
}
