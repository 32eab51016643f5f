// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension FileStore {
    /// For how long a file that cannot be understood may be one that an editor is writing, in seconds.
    private static let settlingTime = 0.1

    /// Takes over what others have written, if it can be read.
    func refresh(_ state: inout State, _ news: inout News) {
        guard !state.isClosed else { return }
        // From before the file is read: what takes its place meanwhile then has another status, and is read next time.
        var status: FileStatus?
        do {
            status = try file.status()
            if status != nil { state.missingSince = nil }
            guard isNews(status, state), !isMissingForAMoment(status, &state, &news) else { return }
            state.isOpened = true
            try install(try file.read(), &state, &news)
        } catch {
            state.isOpened = true
            keepLastGood(error, status, &state, &news)
        }
    }

    /// Whether a file in some state has to be read: when it is not the one that was read, or reading it failed for a
    /// reason that may have gone.
    private func isNews(_ status: FileStatus?, _ state: State) -> Bool {
        guard state.isOpened else { return true }
        guard let defect = state.defect else {
            return status != state.reading?.status || !(state.reading?.isCertain ?? true)
        }
        return defect.mayPass || status != defect.status
    }

    /// Whether a file that was there may only be on its way: some editors move it aside before they write it anew.
    private func isMissingForAMoment(_ status: FileStatus?, _ state: inout State, _ news: inout News) -> Bool {
        guard status == nil, state.reading != nil else { return false }
        guard let since = state.missingSince else {
            state.missingSince = .now
            news.isUnsettled = true
            return true
        }
        return .now - since < .seconds(Self.settlingTime)
    }

    private func install(_ reading: SettingsFile.Reading?, _ state: inout State, _ news: inout News) throws {
        let contents = reading?.contents ?? [:]
        state.reading = reading
        state.defect = nil
        state.missingSince = nil
        publish(contents, origin: .external, &state, &news)
    }

    /// Makes contents visible and takes down what they change.
    func publish(
        _ contents: [String: StoredValue],
        origin: SettingChangeOrigin,
        _ state: inout State,
        _ news: inout News
    ) {
        let changes = [StoreChange](from: state.contents, to: contents)
        guard !changes.isEmpty else { return }
        state.contents = contents
        state.generation &+= 1
        if let observer = state.observer {
            news.deliveries.append(observer.record(StoreCommit(changes: changes, origin: origin)))
        }
    }

    /// Goes on with the last contents that were good, and tells why, once for each failure and state of the file.
    private func keepLastGood(_ error: any Error, _ status: FileStatus?, _ state: inout State, _ news: inout News) {
        if state.reading == nil, state.contents.isEmpty { serveLastGoodCopy(&state, &news) }
        let error = readError(error)
        let isPassing = error.code == .malformedFile && isYoung(status)
        // Who meets the file first has nothing better to serve, and may be gone before it is looked at again.
        if isPassing, state.reading == nil, state.defect == nil {
            state.defect = Defect(status: status, error: error, isPassing: true)
            SystemCalls.sleep(seconds: Self.settlingTime)
            return refresh(&state, &news)
        }
        let defect = Defect(status: status, error: error, isPassing: isPassing)
        if let known = state.defect, known.isSame(as: defect) { return }
        state.defect = defect
        if isPassing {
            news.isUnsettled = true
        } else {
            news.errors.append(error)
        }
    }

    private func serveLastGoodCopy(_ state: inout State, _ news: inout News) {
        do {
            guard let contents = try file.readLastGood() else { return }
            publish(contents, origin: .external, &state, &news)
        } catch {
            // The copy is of no use either. The error that is told is that of the file itself.
        }
    }

    private func isYoung(_ status: FileStatus?) -> Bool {
        guard let status else { return false }
        return abs(SystemCalls.wallClock() - status.modified.secondsSince1970) < Self.settlingTime
    }

    /// Looks at the file again when it has had time to become whole.
    func lookAgain() {
        DispatchQueue.global(qos: .utility)
            .asyncAfter(deadline: .now() + Self.settlingTime) { [weak self] in
                self?.refresh()
            }
    }
}

// MARK: - Errors

extension FileStore {
    func readError(_ error: any Error) -> SettingsError {
        let consequence =
            "it is left as it is, the last good values serve, and assignments are kept in memory meanwhile"
        switch error {
        case let error as JSONSyntaxError:
            return SettingsError(
                .malformedFile,
                fact: "the file cannot be read as settings: \(error.problem)",
                consequence: consequence,
                remedy: "correct the file at that place; it is read again by itself",
                location: SettingsError.Location(file: file.path, line: error.line, column: error.column),
                underlying: error
            )
        case let error as SystemError:
            return SettingsError(
                .readFailed,
                fact: "the file cannot be read: \(error.reason)",
                consequence: consequence,
                remedy: error.number == EACCES ? "let this user read it" : "put a file there that can be read",
                location: SettingsError.Location(file: error.path),
                underlying: error
            )
        default:
            return SettingsError.wrapping(error, as: .readFailed)
        }
    }

    func writeError(_ error: any Error) -> SettingsError {
        guard let error = error as? SystemError else { return SettingsError.wrapping(error, as: .writeFailed) }
        let isReadOnly = [EROFS, EACCES, EPERM].contains(error.number)
        return SettingsError(
            isReadOnly ? .readOnly : .writeFailed,
            fact: "the settings cannot be saved: \(error.path): \(error.reason)",
            consequence: "the file stays as it was",
            remedy: remedy(for: error.number),
            location: SettingsError.Location(file: file.path),
            underlying: error
        )
    }

    private func remedy(for number: CInt) -> String {
        switch number {
        case ENOSPC, EDQUOT: "make room on the disk"
        case EROFS: "mount the file system for writing, or keep the settings elsewhere (STORED_SETTINGS_HOME)"
        case EACCES, EPERM: "let this user write there, or keep the settings elsewhere (STORED_SETTINGS_HOME)"
        case EMFILE, ENFILE: "close files, or raise the limit of open files"
        case ENOENT, ENOTDIR:
            "see that the directory can be made, or keep the settings elsewhere (STORED_SETTINGS_HOME)"
        case ENAMETOOLONG: "give the suite a shorter name"
        default: "see whether the disk is in order"
        }
    }
}
