// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A failure of a setting or a suite: the fact, the consequence, and the fix.
///
/// Distinguish failures by ``code``. Two errors are equal when their codes are.
///
/// A message contains no stored value: it names only kinds of values, keys and the names of members. So messages can be
/// logged even if settings are secret. The ``underlying`` error may contain a value.
public struct SettingsError: Error, Sendable {
    /// The kind of failure.
    public let code: Code

    /// The key of the setting; `nil` for a failure that is not about one.
    public var key: String?

    /// The name of the suite; `nil` if it is unknown.
    public var suite: String?

    /// The file and the place in it; `nil` for a failure that is not about a file.
    public var location: Location?

    /// The path from the setting's value to the wrong part of it, outermost component first.
    ///
    /// Empty for the value itself.
    public var path: [PathComponent]

    /// The error that led to this one.
    public let underlying: (any Error)?

    /// What happened, in one sentence without a period.
    public let fact: String

    /// The effect of the failure, in one sentence without a period.
    public var consequence: String

    /// The fix, in one sentence without a period.
    public var remedy: String

    /// The member that a `Codable` type requires and the stored value lacks; `nil` for other errors.
    var missingMember: MissingMember?

    /// Whether the next checkpoint removes the cause, so that nothing needs to be corrected.
    var isCorrectedByCheckpoint = false

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - fact: What happened, in one sentence without a period and without stored values.
    ///   - consequence: The effect of the failure, in the same form.
    ///   - remedy: The fix, in the same form.
    ///   - key: The key of the setting, for a failure that is about one.
    ///   - location: The file, and the place in it.
    ///   - underlying: The error that led to this one.
    public init(
        _ code: Code,
        fact: String,
        consequence: String = "",
        remedy: String = "",
        key: String? = nil,
        location: Location? = nil,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.fact = fact
        self.consequence = consequence
        self.remedy = remedy
        self.key = key
        self.location = location
        self.underlying = underlying
        path = []
    }
}

extension SettingsError {
    /// A place in a file.
    public struct Location: Sendable, Hashable, CustomStringConvertible {
        /// The path of the file.
        public var file: String
        /// The line, from 1; `nil` for the whole file.
        public var line: Int?
        /// The column in Unicode scalars, from 1; `nil` for the whole line.
        public var column: Int?

        /// Creates a place in a file.
        public init(file: String, line: Int? = nil, column: Int? = nil) {
            self.file = file
            self.line = line
            self.column = column
        }

        /// The place as `file:line:column`, without the parts that are `nil`.
        public var description: String {
            ([file] + [line, column].compactMap { $0.map(String.init) }).joined(separator: ":")
        }
    }

    /// A component of the path to a part of a value.
    public enum PathComponent: Sendable, Hashable {
        /// An entry of a dictionary, or a property of a struct.
        case key(String)
        /// An element of an array.
        case index(Int)
    }
}

extension SettingsError: CustomStringConvertible {
    /// The fact, the consequence and the fix on one line, with the setting, the suite and the place.
    public var message: String {
        // No name in it can imitate another line of a log.
        TerminalText.escaped(
            [headline, consequence.asSentence, remedy.asSentence]
                .filter { !$0.isEmpty }
                .map { $0.hasSuffix(".") ? $0 : $0 + "." }
                .joined(separator: " ")
        )
    }

    /// The ``message``.
    public var description: String { message }

    private var headline: String {
        var subject = ""
        if let key { subject += "setting '\(key)'" }
        // The name of a suite may be the path of its file.
        if let suite, suite != location?.file {
            subject += subject.isEmpty ? "suite '\(suite)'" : " of suite '\(suite)'"
        }
        if let location, !isNamed(location) { subject += subject.isEmpty ? "\(location)" : " (\(location))" }
        let place = path.isEmpty ? "" : "at \(path.pathText): "
        return subject.isEmpty ? place + fact : "\(subject): \(place)\(fact)"
    }
}

extension SettingsError {
    /// Whether the fact names the whole file already.
    private func isNamed(_ location: Location) -> Bool {
        location.line == nil && fact.contains(location.file)
    }
}

extension SettingsError: LocalizedError {
    /// The ``message``.
    public var errorDescription: String? { message }

    /// The ``fact``.
    public var failureReason: String? { fact }

    /// The ``remedy``; `nil` if there is none.
    public var recoverySuggestion: String? { remedy.isEmpty ? nil : remedy }
}

extension SettingsError: Equatable {
    /// Returns whether the two errors have the same code.
    public static func == (left: SettingsError, right: SettingsError) -> Bool {
        left.code == right.code
    }
}

extension [SettingsError.PathComponent] {
    /// The path in source notation: `rules[3].name`.
    var pathText: String {
        reduce(into: "") { text, component in
            switch component {
            case .key(let name): text += text.isEmpty ? name : ".\(name)"
            case .index(let index): text += "[\(index)]"
            }
        }
    }
}

extension String {
    /// The string with a capital first letter.
    fileprivate var asSentence: String {
        prefix(1).uppercased() + dropFirst()
    }
}
