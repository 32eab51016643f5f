// SPDX-License-Identifier: Apache-2.0

extension SettingsError {
    /// What kind of failure an error is.
    ///
    /// More codes may come with any version, so a `switch` over them needs a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private let name: String

        /// Creates a code of your own, for the errors of your own stores and bridges.
        ///
        /// - Parameter name: The code's name, which two equal codes share.
        public init(_ name: String) {
            self.name = name
        }

        /// The code's name.
        public var description: String { name }

        /// A stored value is of another kind than the type needs.
        public static let typeMismatch = Code("typeMismatch")
        /// A stored value is of the right kind, and its contents do not fit the type.
        public static let invalidValue = Code("invalidValue")
        /// A value has no form that the store can hold.
        public static let unstorable = Code("unstorable")
        /// A value is outside the setting's range, or its validator refuses it.
        public static let validationFailed = Code("validationFailed")
        /// A key is empty.
        public static let invalidKey = Code("invalidKey")
        /// A settings file is not what it should be: it is left as it is.
        public static let malformedFile = Code("malformedFile")
        /// The journal beside a settings file is not what it should be.
        public static let malformedJournal = Code("malformedJournal")
        /// A file was written by a newer version of the library, in a form that this one does not know.
        public static let newerFormat = Code("newerFormat")
        /// A file beside a settings file, or a link that leads to one, may be another user's, and is not used.
        public static let untrustedFile = Code("untrustedFile")
        /// A settings file cannot be read.
        public static let readFailed = Code("readFailed")
        /// A settings file cannot be written.
        public static let writeFailed = Code("writeFailed")
        /// The store takes no changes.
        public static let readOnly = Code("readOnly")
        /// Another process holds the lock for too long.
        public static let lockTimedOut = Code("lockTimedOut")
        /// No directory for the settings can be found or made.
        public static let locationUnavailable = Code("locationUnavailable")
        /// The system starts no thread for what is done in the background.
        public static let threadUnavailable = Code("threadUnavailable")
        /// Changes that could not be saved before are still not saved.
        public static let notSaved = Code("notSaved")
        /// An assigned value that could not be saved was dropped, because a newer value was stored elsewhere.
        public static let pendingWriteDropped = Code("pendingWriteDropped")
        /// A transaction, an update or a set was begun inside another one.
        public static let nestedTransaction = Code("nestedTransaction")
        /// A step of a ``SettingsMigrator`` failed, or has the name of another one.
        public static let migrationFailed = Code("migrationFailed")
        /// A setting is of another suite than those it is used with.
        public static let otherSuite = Code("otherSuite")
        /// The suite has been finished.
        public static let suiteFinished = Code("suiteFinished")
        /// The standard suite was chosen too late, or twice.
        public static let standardAlreadyChosen = Code("standardAlreadyChosen")
    }
}
