// SPDX-License-Identifier: Apache-2.0

/// What went wrong with a setting or a suite: the fact, the consequence, and the fix.
///
/// Tell failures apart by ``code``; two errors are equal when their codes are. No message holds a stored value, so a
/// message can be logged even where the settings are secret: of what is stored it names kinds, keys and the names of
/// entries. ``underlying`` may hold a value: log that with care.
public struct SettingsError: Error, Sendable {
    /// What kind of failure this is.
    public let code: Code

    /// The key of the setting, where the failure is about one.
    public var key: String?

    /// The name of the suite, where it is known.
    public var suite: String?

    /// The file, and the place in it, where the failure is about one.
    public var location: Location?

    /// The way from the setting's value to the part of it that is wrong, outermost first.
    ///
    /// Empty for the value itself.
    public var path: [PathComponent]

    /// The error that led to this one, where there is one.
    public let underlying: (any Error)?

    /// What is the case, in one sentence without a full stop.
    public let fact: String

    /// What follows from it, in one sentence without a full stop.
    public var consequence: String

    /// What mends it, in one sentence without a full stop.
    public var remedy: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: What kind of failure this is.
    ///   - fact: What is the case, in one sentence without a full stop and without stored values.
    ///   - consequence: What follows from it, likewise.
    ///   - remedy: What mends it, likewise.
    ///   - key: The key of the setting, where the failure is about one.
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
        /// The line, counted from one, where the failure has a line.
        public var line: Int?
        /// The column, counted from one in characters (Unicode scalars), where the failure has a column.
        public var column: Int?

        /// Creates a place in a file.
        public init(file: String, line: Int? = nil, column: Int? = nil) {
            self.file = file
            self.line = line
            self.column = column
        }

        /// The place as `file:line:column`, as far as it is known.
        public var description: String {
            ([file] + [line, column].compactMap { $0.map(String.init) }).joined(separator: ":")
        }
    }

    /// One step from a value into a part of it.
    public enum PathComponent: Sendable, Hashable {
        /// Into the entry of a dictionary, or the property of a structure.
        case key(String)
        /// Into the element of an array.
        case index(Int)
    }
}

extension SettingsError: CustomStringConvertible {
    /// The fact, the consequence and the fix, in that order, with the setting, the suite and the place they are about.
    public var message: String {
        [headline, consequence.asSentence, remedy.asSentence]
            .filter { !$0.isEmpty }
            .map { $0.hasSuffix(".") ? $0 : $0 + "." }
            .joined(separator: " ")
            .onOneLine
    }

    /// The ``message``.
    public var description: String { message }

    private var headline: String {
        var subject = ""
        if let key { subject += "setting '\(key)'" }
        if let suite { subject += subject.isEmpty ? "suite '\(suite)'" : " of suite '\(suite)'" }
        if let location { subject += subject.isEmpty ? "\(location)" : " (\(location))" }
        let place = path.isEmpty ? "" : "at \(path.pathText): "
        return subject.isEmpty ? place + fact : "\(subject): \(place)\(fact)"
    }
}

extension SettingsError: Equatable {
    /// Whether the two errors are of one kind.
    public static func == (left: SettingsError, right: SettingsError) -> Bool {
        left.code == right.code
    }
}

extension [SettingsError.PathComponent] {
    /// The path as people write it: `rules[3].name`.
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
    /// The text with a capital at its beginning.
    fileprivate var asSentence: String {
        prefix(1).uppercased() + dropFirst()
    }

    /// The text with control characters spelt out, so that no name in it can pretend to be another line of a log.
    fileprivate var onOneLine: String {
        unicodeScalars.reduce(into: "") { text, scalar in
            let isControl = scalar.properties.generalCategory == .control || ["\u{2028}", "\u{2029}"].contains(scalar)
            text += isControl ? scalar.escaped(asASCII: true) : String(scalar)
        }
    }
}
