// SPDX-License-Identifier: Apache-2.0

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
        /// The suite has been finished.
        public static let suiteFinished = Code("suiteFinished")
        /// A suite was configured too late, or twice.
        public static let suiteInUse = Code("suiteInUse")
        /// The standard suite was chosen too late, or twice.
        public static let standardAlreadyChosen = Code("standardAlreadyChosen")
    }
}
