// SPDX-License-Identifier: Apache-2.0

extension SettingsError {
    static var nestedTransaction: SettingsError {
        SettingsError(
            .nestedTransaction,
            fact: "a setting was changed inside a transaction or an update without going through it",
            consequence: "the change is not part of the transaction",
            remedy: "change it through the transaction that the closure is given, or after it"
        )
    }

    static var suiteFinished: SettingsError {
        SettingsError(
            .suiteFinished,
            fact: "the suite has been finished",
            consequence: "the change is not made",
            remedy: "make the suite anew, or finish it later"
        )
    }

    static var checkpointAfterFinish: SettingsError {
        SettingsError(
            .suiteFinished,
            fact: "the suite has been finished",
            consequence: "the settings file is not written",
            remedy: "call checkpoint() before finish(), or open the suite again"
        )
    }

    static func pendingWriteDropped(_ key: String) -> SettingsError {
        SettingsError(
            .pendingWriteDropped,
            fact: "another process, or an edit of the file, changed the setting before an assigned value was saved",
            consequence: "the assigned value is dropped, and the newer stored value is used",
            remedy: "assign the value again if it is to replace the newer one",
            key: key
        )
    }

    static func notSaved(_ count: Int, because error: any Error) -> SettingsError {
        let cause = wrapping(error, as: .writeFailed)
        var result = SettingsError(
            .notSaved,
            fact: "changes that are not saved yet: \(count): \(cause.fact)",
            consequence: "what is not saved is kept in memory, is tried again, and is lost if the process ends before",
            remedy: cause.remedy,
            location: cause.location,
            underlying: error
        )
        result.key = cause.key
        return result
    }

    static func validationFailed(_ fact: String, underlying: (any Error)? = nil) -> SettingsError {
        SettingsError(.validationFailed, fact: fact, underlying: underlying)
    }
}

extension SettingsError {
    static var emptyKey: SettingsError {
        SettingsError(
            .invalidKey,
            fact: "the key is empty",
            consequence: "nothing is changed",
            remedy: "give the setting a key of at least one character"
        )
    }
}
