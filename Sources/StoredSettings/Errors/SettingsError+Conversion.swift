// SPDX-License-Identifier: Apache-2.0

extension SettingsError {
    /// Returns the error of a conversion that finds the wrong kind of value.
    ///
    /// ```swift
    /// guard case .string(let text) = storedValue else {
    ///     throw SettingsError.typeMismatch(expected: "a color like #ff8800", found: storedValue)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - expected: The expected kind, with its article.
    ///   - found: The value that was found. The message names only its kind.
    /// - Returns: The error, to be thrown.
    public static func typeMismatch(expected: String, found: StoredValue) -> SettingsError {
        SettingsError(.typeMismatch, fact: "expected \(expected), found \(found.phrase)")
    }

    /// Returns the error of a conversion that finds the right kind of value with contents that do not fit.
    ///
    /// - Parameter fact: The fact, in one sentence without a period and without the value.
    /// - Returns: The error, to be thrown.
    public static func invalidValue(_ fact: String) -> SettingsError {
        SettingsError(.invalidValue, fact: fact)
    }

    /// Returns the error of a conversion that cannot store a value.
    ///
    /// - Parameters:
    ///   - fact: The fact, in one sentence without a period and without the value.
    ///   - underlying: The error that led to this one.
    /// - Returns: The error, to be thrown.
    public static func unstorable(_ fact: String, underlying: (any Error)? = nil) -> SettingsError {
        SettingsError(.unstorable, fact: fact, underlying: underlying)
    }
}

extension SettingsError {
    /// Runs a conversion of a part of a value, and adds the part to the path of its error.
    package static func at<Result>(_ component: PathComponent, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            var error = wrapping(error, as: .invalidValue)
            error.path.insert(component, at: 0)
            error.missingMember = nil
            throw error
        }
    }

    /// Returns a `SettingsError` unchanged, and wraps any other error.
    ///
    /// The description of the other error is not part of the message, because it may contain the value.
    package static func wrapping(_ error: any Error, as code: Code) -> SettingsError {
        if let error = error as? SettingsError { return error }
        let source = [.readFailed, .writeFailed].contains(code) ? "store" : "conversion"
        return SettingsError(
            code,
            fact: "the \(source) threw an error of type \(type(of: error))",
            remedy: source == "store" ? "examine the underlying error, and try again" : "",
            underlying: error
        )
    }
}

extension SettingsError {
    /// The error without texts that a validator or a conversion of a secret setting has chosen, because they may contain the
    /// value.
    var withoutUserText: SettingsError {
        let fact =
            switch code {
            case .typeMismatch, .invalidKey: fact
            case .validationFailed: "the value is not one of the valid values"
            default: "the value is not valid"
            }
        var error = SettingsError(code, fact: fact, key: key, suite: suite, location: location)
        // The keys of a dictionary are part of the value.
        error.path = path.filter { component in
            if case .index = component { true } else { false }
        }
        return error
    }

    /// The error of a value outside a setting's range.
    static func outside(_ range: RangeWords) -> SettingsError {
        SettingsError(
            .validationFailed,
            fact: "the value is \(range.outside)",
            remedy: "assign a value \(range.inside)"
        )
    }

    /// The error of a value that is not one of a setting's choices.
    static func notListed(_ choices: String) -> SettingsError {
        SettingsError(
            .validationFailed,
            fact: "the value is none of the valid ones",
            remedy: "assign a value out of \(choices)"
        )
    }

    /// The error of a validator that reads its own setting.
    static let recursiveValidator = SettingsError(
        .validationFailed,
        fact: "the setting's validator reads the setting itself, or another one whose validator reads it",
        consequence: "it receives the value that it checks, which may not be the one that is used in the end",
        remedy:
            "use the value that the validator receives, or declare a condition on several settings with `require` of a catalog"
    )

    /// The error of a value for which a validator returns `false`, or throws an error that is not a `SettingsError`.
    ///
    /// The message contains the thrown error's description only if the validator's author has chosen it: if the error is a
    /// value type that conforms to `CustomStringConvertible`. The description of an error class, such as `NSError`, comes
    /// from a framework and may contain the value.
    static func rejectedByValidator(_ error: (any Error)? = nil) -> SettingsError {
        let reason = error.map { error in
            let type = type(of: error)
            // The type is tested, because with Objective-C the cast of an error of any type succeeds, as an `NSError`.
            let isChosen = !(type is AnyClass) && type is any CustomStringConvertible.Type
            return (isChosen ? error as Any as? any CustomStringConvertible : nil)?.description ?? "it threw \(type)"
        }
        return SettingsError(
            .validationFailed,
            fact: "the setting's validator rejected the value" + (reason.map { ": \($0)" } ?? ""),
            remedy: "assign a value that the validator accepts",
            underlying: error
        )
    }
}

extension SettingsError {
    /// The fix of a null that is stored for an optional type whose `nil` means that nothing is stored.
    static let removeMember = "remove the member"

    /// The error of the text that stands for a secret that is not shown.
    package static var placeholder: SettingsError {
        SettingsError(
            .invalidValue,
            fact: "the value stands for a secret that is not shown",
            remedy: "use the secret itself"
        )
    }

    /// The error of a structure that would be read back with other members.
    static var notReadBack: SettingsError {
        SettingsError(
            .unstorable,
            fact: "the value would be read back as another one, because its type omits members, or does not read null",
            remedy: "encode all members, those that are nil as null, or declare the setting with the trait 'whole'"
        )
    }

    /// The error of a text that a person has typed, which is in no file.
    package func ofTypedText(consequence: String) -> SettingsError {
        var error = self
        error.location = nil
        error.consequence = consequence
        if remedy.hasPrefix("assign ") { error.remedy = "use " + remedy.dropFirst("assign ".count) }
        return error
    }
}

extension StoredValue {
    /// The kind of the value with its article, for messages, which contain no values: only an empty string is recognizable.
    var phrase: String { self == .string("") ? "an empty string" : kind.phrase }
}

extension StoredValue.Kind {
    /// The kind with its article, for messages.
    package var phrase: String {
        switch self {
        case .null: "null"
        case .bool: "a Boolean"
        case .integer: "an integer"
        case .double: "a number with a fraction"
        case .string: "a string"
        case .date: "a date"
        case .data: "bytes"
        case .array: "an array"
        case .dictionary: "a dictionary"
        }
    }
}
