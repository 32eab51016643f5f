// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A failure of a setting or a suite: the fact, the consequence, and the fix.
///
/// Distinguish failures by ``code``.
///
/// A message contains no stored value: it names only kinds of values, keys and the names of members. So messages can be
/// logged even if settings are secret. The ``underlying`` error may contain a value.
public struct SettingsError: Error, Sendable {
    /// The kind of failure.
    public package(set) var code: Code

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
    public package(set) var underlying: (any Error)?

    /// What happened, in one sentence without a period.
    public package(set) var fact: String

    /// The effect of the failure, in one sentence without a period.
    public var consequence: String

    /// The fix, in one sentence without a period.
    public var remedy: String

    /// The names that lead to the member that a `Codable` type requires and the stored value lacks; `nil` for other errors, and in
    /// an element of a collection.
    var missingMember: [String]?

    /// Whether the next checkpoint removes the cause, so that nothing needs to be corrected.
    package var isCorrectedByCheckpoint = false

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - fact: What happened, in one sentence without a period and without stored values.
    ///   - consequence: The effect of the failure, in the same form.
    ///   - remedy: The fix, in the same form.
    ///   - key: The key of the setting, for a failure that is about one.
    ///   - suite: The name of the suite.
    ///   - location: The file, and the place in it.
    ///   - underlying: The error that led to this one.
    public init(
        _ code: Code,
        fact: String,
        consequence: String = "",
        remedy: String = "",
        key: String? = nil,
        suite: String? = nil,
        location: Location? = nil,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.fact = fact
        self.consequence = consequence
        self.remedy = remedy
        self.key = key
        self.suite = suite
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

        /// A whole file.
        init(_ path: FilePath) {
            self.init(file: path.description)
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

// MARK: - Codes

extension SettingsError {
    /// The kind of a failure.
    ///
    /// Later versions may add codes, so a `switch` over them needs a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private let name: String

        /// Creates a code for the errors of your own stores and bridges.
        ///
        /// - Parameter name: The code's name. Codes with equal names are equal.
        public init(_ name: String) {
            self.name = name
        }

        /// The code's name.
        public var description: String { name }

        /// A stored value has another kind than the type needs.
        public static let typeMismatch = Code("typeMismatch")
        /// A stored value has the right kind, but its contents do not fit the type.
        public static let invalidValue = Code("invalidValue")
        /// A value cannot be converted to a stored value.
        public static let unstorable = Code("unstorable")
        /// A value is outside the setting's range, or is rejected by its validator.
        public static let validationFailed = Code("validationFailed")
        /// The values of several settings do not meet a requirement.
        public static let requirementNotMet = Code("requirementNotMet")
        /// Values are stored under the key of a setting and under one that it had before.
        public static let oldKeyIgnored = Code("oldKeyIgnored")
        /// A file has the key as a name, and in an object; the value in the object is not used.
        public static let memberIgnored = Code("memberIgnored")
        /// Two declarations of one key differ.
        public static let conflictingDeclarations = Code("conflictingDeclarations")
        /// A value that should contain settings contains none.
        public static let emptyCatalog = Code("emptyCatalog")
        /// A key is stored that no declaration has.
        public static let unknownKey = Code("unknownKey")
        /// An environment variable has the prefix of a suite, and belongs to no setting.
        public static let unknownVariable = Code("unknownVariable")
        /// A deprecated setting has a value, or a setting has one from a flag or a variable of its old key.
        public static let deprecatedKey = Code("deprecatedKey")
        /// A key is empty, or is one of the reserved names `$schema` and `$lastGood`.
        public static let invalidKey = Code("invalidKey")
        /// A settings file is malformed.
        ///
        /// It is left as it is.
        public static let malformedFile = Code("malformedFile")
        /// The journal beside a settings file is malformed.
        public static let malformedJournal = Code("malformedJournal")
        /// A file was written by a newer version of the library, in a format that this version cannot read.
        public static let newerFormat = Code("newerFormat")
        /// A file beside a settings file, or a link to one, may belong to another user, and is not used.
        public static let untrustedFile = Code("untrustedFile")
        /// A settings file cannot be read.
        public static let readFailed = Code("readFailed")
        /// A settings file cannot be written.
        public static let writeFailed = Code("writeFailed")
        /// The store is read-only.
        public static let readOnly = Code("readOnly")
        /// The value is managed in a file of an administrator, and cannot be changed.
        public static let managed = Code("managed")
        /// Another process has held the lock for too long.
        public static let lockTimedOut = Code("lockTimedOut")
        /// No directory for the settings can be found or created.
        public static let locationUnavailable = Code("locationUnavailable")
        /// The system starts no thread for background work.
        public static let threadUnavailable = Code("threadUnavailable")
        /// Assignments that could not be saved before are still not saved.
        public static let notSaved = Code("notSaved")
        /// An assigned value that was not saved yet was dropped, because another process stored a newer value.
        public static let pendingWriteDropped = Code("pendingWriteDropped")
        /// A setting was changed inside a transaction or an update, but not through it.
        public static let nestedTransaction = Code("nestedTransaction")
        /// A step of a ``SettingsMigrator`` failed, or has the name of another step.
        public static let migrationFailed = Code("migrationFailed")
        /// A setting belongs to another suite than the transaction, the observation or the call it is used in.
        public static let otherSuite = Code("otherSuite")
        /// The changes of some suites are stored, and those of another one are not.
        public static let partlyStored = Code("partlyStored")
        /// The suite has been finished.
        public static let suiteFinished = Code("suiteFinished")
        /// A suite was configured too late, or twice.
        public static let suiteInUse = Code("suiteInUse")
        /// The standard suite was chosen too late, or twice.
        public static let standardAlreadyChosen = Code("standardAlreadyChosen")
    }
}
