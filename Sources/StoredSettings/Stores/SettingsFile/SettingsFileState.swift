// SPDX-License-Identifier: Apache-2.0

/// The settings file as a store knows it.
struct SettingsFileState {
    /// How long a file that cannot be parsed may be one that an editor is writing, in seconds.
    static let settlingTime = 0.1
    /// The interval between looks for changes that no event reports, in seconds.
    static let pollInterval = 0.1

    /// The file that was read or written last, without its contents; `nil` when there was none.
    var reading: SettingsFile.Reading?
    /// The edit version of that file, if a checkpoint has put it in place: see ``WrittenFile``.
    var editVersion: UInt64?
    /// The file's values under keys that have a newer value in the journal, as far as they are known.
    var overridden: [String: StoredValue?] = [:]
    /// The directory of the file whose contents are in memory; `nil` if there is none, or another journal was found since.
    ///
    /// The contents remain in use while another program has moved the file aside.
    var rememberedPlace: FileIdentity?
    /// Whether the contents are based on a settings file, on its last good copy, or on a suite that never had a file.
    var hasBase = false
    /// The error that prevents reading the file.
    ///
    /// The contents are the last good ones then.
    var failure: ReadFailure?
    /// The time at which the file was found missing.
    ///
    /// The contents are still those of the file.
    var missingSince: ContinuousClock.Instant?
    /// The time of the last look at the file.
    var lookedAt: ContinuousClock.Instant?
    /// The number of looks at the file.
    var looks = 0
    /// The status of the settings file to which the permissions of its siblings were adjusted last.
    private var adjustedTo: FileStatus?

    /// Whether a journal of another user has retained permissions that the settings file does not have.
    var isRefusalNoted = false

    /// Notes that the permissions of the siblings are adjusted to those of the file.
    ///
    /// - Returns: Whether they differ from those that were noted last, and whether users may have lost access.
    mutating func noteAdjustment(to status: FileStatus) -> (isNew: Bool, isLess: Bool) {
        defer { adjustedTo = status }
        guard let last = adjustedTo else { return (true, false) }
        let isLess = last.allowsMore(than: status)
        return (isLess || status.allowsMore(than: last), isLess)
    }

    /// Whether the file can be read, and no program may be in the middle of writing it, as far as its times show that.
    var isSettled: Bool {
        missingSince == nil && failure?.isTransient != true
            && (reading?.isCertain != false || reading?.checksum != nil)
    }

    /// Records the file that was read successfully, or that there is none.
    mutating func accept(_ reading: SettingsFile.Reading?, _ page: SharedPage?) {
        (self.reading, failure, hasBase, editVersion) = (reading, nil, true, nil)
        if let page, let written = WrittenFile(in: page), written.isUnchanged(reading?.status, in: page) {
            editVersion = written.editVersion
        }
    }
}

/// The failure of the last attempt to read the settings file.
struct ReadFailure {
    let error: SettingsError
    /// The file that could not be read; `nil` when its status is unknown or it is missing.
    var status: FileStatus?
    /// Whether another program may be in the middle of writing the file.
    var isTransient = false
    /// The error that was reported: this one, unless it is transient, or that of an earlier attempt.
    var reported: SettingsError?
    /// Whether the file is missing although it existed.
    var isMissing = false
    /// Whether the stored values may differ from those in memory, so that no change can be based on these.
    let isUnknown: Bool

    /// Whether another look at the same file may succeed.
    var isRetryable: Bool { isTransient || isMissing || error.code != .malformedFile }

    func isSame(as other: ReadFailure) -> Bool {
        status == other.status && error.code == other.error.code && isTransient == other.isTransient
            && isMissing == other.isMissing
    }
}
