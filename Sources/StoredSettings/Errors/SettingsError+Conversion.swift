// SPDX-License-Identifier: Apache-2.0

extension SettingsError {
    /// The error of a conversion that finds the wrong kind of value.
    ///
    /// ```swift
    /// guard case .string(let text) = storedValue else {
    ///     throw SettingsError.typeMismatch(expected: "a colour like #ff8800", found: storedValue)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - expected: What was expected, with its article.
    ///   - found: What was found; only its kind is named in the message.
    /// - Returns: The error, to be thrown.
    public static func typeMismatch(expected: String, found: StoredValue) -> SettingsError {
        SettingsError(.typeMismatch, fact: "expected \(expected), found \(found.kind.phrase)")
    }

    /// The error of a conversion that finds the right kind of value with contents that do not fit.
    ///
    /// - Parameter fact: What is wrong, in one sentence without a full stop and without the value.
    /// - Returns: The error, to be thrown.
    public static func invalidValue(_ fact: String) -> SettingsError {
        SettingsError(.invalidValue, fact: fact)
    }

    /// The error of a conversion that has no stored form for a value.
    ///
    /// - Parameters:
    ///   - fact: What is wrong, in one sentence without a full stop and without the value.
    ///   - underlying: The error that led to this one.
    /// - Returns: The error, to be thrown.
    public static func unstorable(_ fact: String, underlying: (any Error)? = nil) -> SettingsError {
        SettingsError(.unstorable, fact: fact, underlying: underlying)
    }
}

extension SettingsError {
    /// Runs a conversion of a part of a value; what it throws names the part.
    package static func at<Result>(_ component: PathComponent, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            var error = wrapping(error, as: .invalidValue)
            error.path.insert(component, at: 0)
            throw error
        }
    }

    /// An error as it is, when it is one of these, and otherwise one of these around it, told without its text: what
    /// others say of a value may quote the value.
    package static func wrapping(_ error: any Error, as code: Code) -> SettingsError {
        if let error = error as? SettingsError { return error }
        let source = [.readFailed, .writeFailed].contains(code) ? "store" : "conversion"
        return SettingsError(
            code,
            fact: "the \(source) threw an error of type \(type(of: error))",
            underlying: error
        )
    }
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
