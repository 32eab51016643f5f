// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// Something that is wrong with the files of a suite.
struct Finding: Sendable {
    /// What the finding is about.
    enum Topic: String {
        case directory, permissions, attributes, links
        case file = "settings file"
        case journal, lock
        case copy = "last good copy"
        case drafts = "temporary files"
        case watches
        case disk = "file system"
    }

    /// A change that removes the cause of a finding, and no value.
    enum Repair: Sendable, Equatable {
        /// What a killed process has left is completed, as the next change of any program would.
        case checkpoint
        /// Files are removed that no process uses.
        case removeDrafts
        /// A file that is not a journal is renamed, so that the next change creates a journal.
        case setJournalAside
        /// The last good copy and the journal replace the settings file, only on explicit request.
        case restore
    }

    let topic: Topic
    /// Whether the settings cannot be read or changed, or are not safe now; otherwise, they may become so.
    let isError: Bool
    /// What it is, the consequence, and what to do.
    let error: SettingsError
    var repair: Repair?

    init(_ topic: Topic, isError: Bool = false, _ error: SettingsError, repair: Repair? = nil) {
        self.topic = topic
        self.isError = isError
        self.error = error
        self.repair = repair
    }

    init(
        _ topic: Topic,
        isError: Bool = false,
        _ path: FilePath,
        _ fact: String,
        consequence: String,
        remedy: String,
        code: SettingsError.Code = .readFailed,
        repair: Repair? = nil
    ) {
        let place = SettingsError.Location(file: path.description)
        self.init(
            topic,
            isError: isError,
            SettingsError(code, fact: fact, consequence: consequence, remedy: remedy, location: place),
            repair: repair
        )
    }

    /// The finding of a file or directory that this user may not use, or that the system cannot read.
    init(_ topic: Topic, _ error: any Error, at path: FilePath) {
        switch error {
        case let error as SettingsError: self.init(topic, isError: true, error)
        case let error as SystemError where [Errno.permissionDenied, Errno.notPermitted].contains(error.number):
            self.init(
                .permissions,
                isError: true,
                error.path,
                "user \(SystemCalls.currentUser()) may not \(error.call == .access ? "write to" : "read") it",
                consequence: error.call == .access
                    ? "a program of this user cannot store values" : "what needs that was not checked",
                remedy: "run this as the user of the program, or allow this user to use it",
                code: .readOnly
            )
        default:
            let reason = (error as? SystemError)?.reason ?? "an error of type \(type(of: error))"
            self.init(
                topic,
                isError: true,
                path,
                "it cannot be examined: \(reason)",
                consequence: "nothing else was checked there",
                remedy: "check the path, the disk and the file system"
            )
        }
    }

    var severity: String { isError ? "error" : "warning" }

    /// The finding as an object of JSON.
    var json: StoredValue {
        [
            "severity": .string(severity),
            "topic": .string(topic.rawValue),
            "place": error.location.map { .string($0.description) } ?? .null,
            "fact": .string(error.fact),
            "consequence": .string(error.consequence),
            "remedy": .string(error.remedy),
            "repair": repair.map { .string($0 == .restore ? "--restore" : "--repair") } ?? .null,
        ]
    }
}
