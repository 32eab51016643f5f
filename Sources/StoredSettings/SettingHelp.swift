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
    private let shared: Shared?

    private struct Details: Hashable {
        var discussion = ""
        var valueName = ""
        var unit = ""
    }

    /// One reference, so that a declaration copies no strings.
    private indirect enum Shared: Hashable {
        case details(Details)
    }

    private var details: Details {
        if case .details(let details) = shared { details } else { Details() }
    }

    /// Further sentences, for the output that has room for them.
    public var discussion: String { details.discussion }

    /// A name for the value, such as `host`; empty for the name of its type.
    public var valueName: String { details.valueName }

    /// The unit of the value, such as `seconds`; empty for a value without a unit.
    public var unit: String { details.unit }

    /// Creates the help of a setting.
    ///
    /// - Parameters:
    ///   - summary: One sentence.
    ///   - discussion: Further sentences.
    ///   - valueName: A name for the value.
    ///   - unit: The unit of the value.
    public init(_ summary: String, discussion: String = "", valueName: String = "", unit: String = "") {
        self.summary = summary
        let isShort = discussion.isEmpty && valueName.isEmpty && unit.isEmpty
        shared = isShort ? nil : .details(Details(discussion: discussion, valueName: valueName, unit: unit))
    }
}

extension SettingHelp: ExpressibleByStringInterpolation {
    /// Creates help that has only a summary.
    public init(stringLiteral summary: String) {
        self.init(summary)
    }
}
