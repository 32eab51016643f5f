// SPDX-License-Identifier: Apache-2.0

extension SettingsError {
    /// The error of an assignment that was accepted together with another one, which the store rejects.
    init(rejectedWith key: String) {
        self.init(
            .requirementNotMet,
            fact: "it was accepted together with the value of '\(key)', which cannot be stored",
            remedy: "assign it again"
        )
    }

    static var uncheckedChanges: SettingsError {
        SettingsError(
            .writeFailed,
            fact: "other processes store values that do not meet a requirement, faster than they are checked",
            remedy: "try again"
        )
    }

    static var nestedTransaction: SettingsError {
        SettingsError(
            .nestedTransaction,
            fact: "a setting was changed inside a transaction or an update, but not through it",
            consequence: "nothing is changed",
            remedy: "change it through the parameter of the closure, or after the transaction"
        )
    }

    static var suiteFinished: SettingsError {
        SettingsError(
            .suiteFinished,
            fact: "the suite has been finished",
            consequence: "nothing is changed",
            remedy: "make the call before finish(), or create the suite again"
        )
    }

    package static func pendingWriteDropped(_ key: String) -> SettingsError {
        SettingsError(
            .pendingWriteDropped,
            fact: "another process or an editor changed the setting before an assigned value was saved",
            consequence: "the assigned value is not saved, and the newer value remains stored",
            remedy: "assign the value again if it should replace the newer one",
            key: key
        )
    }

    static func notSaved(_ count: Int, because error: any Error) -> SettingsError {
        let cause = wrapping(error, as: .writeFailed)
        var result = SettingsError(
            .notSaved,
            fact: "\(count == 1 ? "one change is" : "\(count) changes are") not saved yet: \(cause.fact)",
            consequence: "the new values are used, and are lost if the process ends before a later try succeeds",
            remedy: cause.remedy,
            location: cause.location,
            underlying: error
        )
        result.key = cause.key
        return result
    }

    static func ignoredOldKey(_ old: String, of key: String) -> SettingsError {
        SettingsError(
            .oldKeyIgnored,
            fact: "a value is stored under this key and one under its old key '\(old)'",
            consequence: "the value under '\(key)' is used",
            remedy: "remove '\(old)' from the suite, or set the setting, which removes it as well",
            key: key
        )
    }

    static func ignoredMember(of object: String, key: String) -> SettingsError {
        let member = key.dropFirst(object.count + 1)
        return SettingsError(
            .memberIgnored,
            fact:
                "there is a value with the name '\(key)', and one with the name '\(member)' in the object '\(object)'",
            consequence: "the value with the name '\(key)' is used",
            remedy: "remove one of them",
            key: key
        )
    }

    static func oldName(_ old: String, of new: String, key: String) -> SettingsError {
        SettingsError(
            .deprecatedKey,
            fact: "\(old) follows from an old key of the setting",
            consequence: "its value is used",
            remedy: "use \(new)",
            key: key
        )
    }

    static func suiteInUse(_ state: String, _ name: String) -> SettingsError {
        SettingsError(
            .suiteInUse,
            fact: "the suite \(state)",
            consequence: "its configuration is not changed",
            remedy: "call configure once, before the first suite with this name is created",
            suite: name
        )
    }

    static var emptyKey: SettingsError {
        SettingsError(
            .invalidKey,
            fact: "the key is empty",
            consequence: "nothing is changed",
            remedy: "use a key of at least one character"
        )
    }

    static func reservedKey(_ key: String) -> SettingsError {
        SettingsError(
            .invalidKey,
            fact: "'\(key)' is not a key: it is reserved for settings files",
            consequence: "nothing is changed",
            remedy: "use another key",
            key: key
        )
    }
}
