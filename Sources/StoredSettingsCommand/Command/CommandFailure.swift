// SPDX-License-Identifier: Apache-2.0

package import StoredSettings

/// The exit codes of a command, as `sysexits.h` defines them.
package enum CommandExit {
    package static let success: Int32 = 0
    /// The value to show is `nil`.
    package static let noValue: Int32 = 1
    package static let usage: Int32 = 64
    package static let data: Int32 = 65
    package static let noInput: Int32 = 66
    package static let unavailable: Int32 = 69
    package static let software: Int32 = 70
    package static let system: Int32 = 71
    package static let cannotCreate: Int32 = 73
    package static let input: Int32 = 74
    package static let temporary: Int32 = 75
    package static let noPermission: Int32 = 77
    package static let configuration: Int32 = 78

    /// The meanings of the codes, for the help.
    package static let meanings: [(code: Int32, meaning: String)] = [
        (success, "success"),
        (noValue, "the value is nil, so nothing is shown"),
        (usage, "the command, an option or a key is wrong"),
        (data, "a setting rejects a value, or the file to import is malformed"),
        (noInput, "the file to import cannot be read"),
        (unavailable, "the editor failed"),
        (software, "an error in the program"),
        (system, "the system refused a resource"),
        (cannotCreate, "there is no place to store the settings in"),
        (input, "the settings, or the output, cannot be read or written"),
        (temporary, "another process prevented the change, or it was canceled; try again"),
        (noPermission, "this user may not change the settings"),
        (configuration, "there are problems with the stored values or the settings file"),
    ]

    /// The exit code of an error of the library.
    package static func code(of error: SettingsError) -> Int32 {
        codes[error.code] ?? software
    }

    private static let codes: [SettingsError.Code: Int32] = [
        .typeMismatch: data,
        .invalidValue: data,
        .unstorable: data,
        .validationFailed: data,
        .requirementNotMet: data,
        .invalidKey: data,
        .unknownKey: data,
        .threadUnavailable: system,
        .locationUnavailable: cannotCreate,
        .readFailed: input,
        .writeFailed: input,
        .notSaved: input,
        .lockTimedOut: temporary,
        .readOnly: noPermission,
        .managed: noPermission,
        .untrustedFile: noPermission,
        .malformedFile: configuration,
        .malformedJournal: configuration,
        .newerFormat: configuration,
        .oldKeyIgnored: configuration,
        .memberIgnored: configuration,
        .conflictingDeclarations: configuration,
        .emptyCatalog: configuration,
        .unknownVariable: configuration,
        .deprecatedKey: configuration,
        // The codes of StoredSettingsEtcd, which this module does not import.
        SettingsError.Code("serverUnavailable"): unavailable,
        SettingsError.Code("serverRefused"): noPermission,
        SettingsError.Code("otherCluster"): configuration,
        SettingsError.Code("outcomeUnknown"): temporary,
        SettingsError.Code("transactionTooLarge"): data,
    ]
}

/// The end of a command without success.
package struct CommandFailure: Error {
    package let code: Int32
    /// What happened, with the consequence and the fix; empty if there is nothing to say.
    package let messages: [String]
    /// The messages of a command that was to change values; `nil` if they are the same.
    private var messagesOfChange: [String]?

    package init(_ code: Int32, _ messages: String...) {
        self.init(code, messages: messages)
    }

    package init(_ code: Int32, messages: [String]) {
        self.code = code
        self.messages = messages
        messagesOfChange = nil
    }

    /// Creates a failure before anything was changed, which is worth saying only of a command that changes values.
    ///
    /// - Parameters:
    ///   - code: The exit code.
    ///   - fact: What is wrong.
    ///   - fix: What to do instead.
    init(_ code: Int32, fact: String, fix: String) {
        let end = fix.hasSuffix("?") || fix.hasSuffix(".") ? fix : fix + "."
        self.code = code
        messages = ["\(fact). \(end)"]
        messagesOfChange = ["\(fact). Nothing is changed. \(end)"]
    }

    /// Returns the messages for a command that changes values, or for one that does not.
    func messages(ofChange isChange: Bool) -> [String] {
        isChange ? messagesOfChange ?? messages : messages
    }

    /// The failure that an error means.
    package init(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as PartlyStoredError:
            let cause =
                error.cause is CancellationError
                ? CommandFailure(CommandExit.temporary, "the command was canceled. Run it again.")
                : CommandFailure(error.cause)
            self.init(cause.code, messages: cause.messages + ["The changes of \(error.names) are stored already."])
        case let error as SettingsError: self.init(CommandExit.code(of: error), error.inCommand.message)
        // The reader of the output has seen enough.
        case let error as SystemError where error.number == Errno.brokenPipe && error.call == .write:
            self.init(CommandExit.success)
        case let error as SystemError:
            let (fact, fix) = ("\(error). The command stopped there", "Check the file and the disk.")
            self.init(CommandExit.input, "\(fact). \(fix)")
            messagesOfChange = ["\(fact), and what it had stored before remains stored. \(fix)"]
        case is CancellationError:
            self.init(CommandExit.temporary, fact: "the command was canceled", fix: "Run it again")
        default: self.init(CommandExit.software, "an error of type \(type(of: error)). The command stopped there.")
        }
    }

    /// The failure of arguments that make no sense.
    ///
    /// - Parameters:
    ///   - fact: What is wrong.
    ///   - fix: What to type instead.
    /// - Returns: The failure.
    package static func usage(_ fact: String, fix: String) -> CommandFailure {
        CommandFailure(CommandExit.usage, fact: fact, fix: fix)
    }
}

extension SettingsError {
    /// The error with a fix for a shell, which has no transactions and assigns nothing.
    fileprivate var inCommand: SettingsError {
        var error = self
        error.remedy = remedy.replacing("assign a", with: "set a")
            .replacing("in one transaction", with: "in one command")
        return error
    }
}
