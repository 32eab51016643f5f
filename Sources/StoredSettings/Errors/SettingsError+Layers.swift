// SPDX-License-Identifier: Apache-2.0

extension SettingsError {
    /// The error of a file of a layer, or a directory of such files, that cannot be read.
    static func unreadableLayer(
        _ file: SettingsFile,
        because error: any Error,
        hasContents: Bool,
        isManaged: Bool
    ) -> SettingsError {
        var problem = file.readError(error, hasValues: true)
        problem.location = problem.location ?? Location(file.path)
        problem.consequence =
            switch (hasContents, isManaged) {
            case (true, _): "its last good values are used"
            case (false, true):
                "it is skipped, and no setting of the suite can be changed, because any may be managed"
            case (false, false): "it is skipped, and the next layer is used"
            }
        return problem
    }

    /// The error of a file with a secret that cannot be read.
    static func unreadableSecret(_ path: FilePath, because error: any Error, hasContents: Bool) -> SettingsError {
        var problem = wrapping(error, as: .readFailed)
        if let error = error as? SystemError {
            let remedy =
                switch error.number {
                case Errno.permissionDenied: "allow this user to read the file, and to enter its directory"
                case Errno.isDirectory: SettingsFile.remedyForDirectory
                case _ where error.isTransient: "close files or free memory; it is then read again automatically"
                default: "use a regular file with a text of at most 1 MiB that this user may read"
                }
            problem = SettingsError(
                .readFailed,
                fact: "the file cannot be read: \(error.readingReason)",
                remedy: remedy,
                underlying: error
            )
        }
        problem.consequence =
            hasContents ? "its last good value is used" : "it is skipped, and the next layer is used"
        if problem.remedy.isEmpty { problem.remedy = "write the value as text in UTF-8, without null characters" }
        problem.location = Location(path)
        return problem
    }

    /// The error of a file that a variable names, and that does not exist.
    static func missingSecret(_ path: FilePath, namedBy variable: String) -> SettingsError {
        SettingsError(
            .readFailed,
            fact: "the file that \(variable) names does not exist",
            consequence: "it is ignored, and the next layer is used",
            remedy: "create the file, or unset \(variable)",
            location: Location(path)
        )
    }

    /// The warning of a variable that would name a file for a setting, and belongs to another one.
    static func takenVariable(_ variable: String, by owner: String, key: String) -> SettingsError {
        SettingsError(
            .conflictingDeclarations,
            fact: "\(variable) is the variable of the setting '\(owner)'",
            consequence: "it names no file for '\(key)'",
            remedy: "rename one of the settings, or give one another variable with the trait .environment",
            key: key
        )
    }

    /// The error of a file with a secret, with the variable that names the file.
    func naming(_ variable: String) -> SettingsError {
        var error = self
        error.fact = "the file that \(variable) names cannot be used: \(fact)"
        error.remedy = remedy.isEmpty ? "unset \(variable)" : "\(remedy), or unset \(variable)"
        return error
    }

    /// The error of a command line that the system does not report.
    package static let unknownArguments = SettingsError(
        .readFailed,
        fact: "the arguments of this process are unknown, because /proc cannot be read",
        consequence: "its flags and commands are ignored",
        remedy: "mount /proc in the container or the root directory of the program"
    )

    /// The error of a list with an administrator's file that is not at the beginning.
    static let managedBehindOthers = SettingsError(
        .conflictingDeclarations,
        fact: "a managed file is behind another source in the list of sources",
        consequence: "it takes precedence over that source all the same",
        remedy: "write '.managed' at the beginning of the list"
    )

    /// The error of a list that names the store twice.
    static let storedTwice = SettingsError(
        .conflictingDeclarations,
        fact: "'.stored' is in the list of sources more than once",
        consequence: "only the first one counts",
        remedy: "remove the others"
    )

    /// The error of a change of a managed key.
    static func managed(_ key: String?, at location: Location) -> SettingsError {
        SettingsError(
            .managed,
            fact: "the value is managed in \(location)",
            consequence: "nothing is changed",
            remedy: "ask the administrator to change it in that file",
            key: key,
            location: location
        )
    }

    /// The error of a change while the managed keys are unknown.
    static func unknownManagement(_ key: String?, in file: FilePath, because problem: SettingsError?) -> SettingsError {
        SettingsError(
            .managed,
            fact: "the value may be managed in \(file), which cannot be read",
            consequence: "nothing is changed",
            remedy: problem.map { "ask the administrator to correct that file: \($0.fact)" } ?? "correct that file",
            key: key,
            location: problem?.location ?? Location(file),
            underlying: problem
        )
    }
}
