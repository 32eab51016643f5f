// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension FileStore {
    func commit<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        var news = News()
        defer { deliver(news) }
        let arrival = ContinuousClock.now
        return try writer.withLock { failure in
            // Those who waited here while another waited for the lock in vain would each wait as long again.
            if let failure, failure.time > arrival { throw failure.error }
            let lock = try acquireLock(&failure)
            defer { _ = consume lock }
            let base = try freshBase(&news)
            var transaction = StoreTransaction(base: base.contents)
            let result = try body(&transaction)
            try save(transaction.storedAsJSON, over: base, &news)
            return result
        }
    }

    private func acquireLock(_ failure: inout LockFailure?) throws -> FileHandle {
        do {
            let target = try SettingsPath.target(of: file.path, file.system)
            let lock = FileLock(path: target + SettingsFile.lockSuffix, system: file.system)
            do {
                return try lock.acquire(progress: file.status)
            } catch let error as SystemError where error.number == ENOENT {
                try file.system.makeDirectories(SettingsPath.directory(of: target))
                return try lock.acquire(progress: file.status)
            }
        } catch {
            let error = writeError(error)
            if error.code == .lockTimedOut { failure = LockFailure(time: .now, error: error) }
            throw error
        }
    }

    /// The contents to begin with, and the state of the file they are from.
    private struct Base {
        var contents: [String: StoredValue]
        var status: FileStatus?
    }

    /// The newest contents.
    ///
    /// Those of a file that cannot be read are not to be built on.
    private func freshBase(_ news: inout News) throws -> Base {
        while true {
            let (base, defect, isMissing) = try state.withLock { state in
                guard !state.isClosed else { throw SettingsError.suiteFinished }
                refresh(&state, &news)
                let base = Base(contents: state.contents, status: state.reading?.status)
                return (base, state.defect, state.missingSince != nil)
            }
            if defect == nil, !isMissing { return base }
            if let defect, !defect.isPassing { throw defect.error }
            // Somebody may be in the middle of writing the file. It is soon whole, or old enough to be called broken.
            SystemCalls.sleep(seconds: 0.01)
        }
    }

    /// Writes changes to the file, over what is in it by then: others who write it may know of no lock.
    private func save(_ changes: [StoreChange], over base: Base, _ news: inout News) throws {
        guard !changes.isEmpty else { return }
        var base = base
        while true {
            do {
                let draft = try file.draft(base.contents.applying(changes), replacing: base.status)
                if let reading = try replace(base, with: draft, &news) { return settle(draft, reading, &news) }
            } catch {
                throw writeError(error)
            }
            base = try freshBase(&news)
        }
    }

    /// Puts a draft in the file's place, unless the file has been changed since it was read.
    private func replace(
        _ base: Base,
        with draft: SettingsFile.Draft,
        _ news: inout News
    ) throws -> SettingsFile.Reading? {
        do {
            return try state.withLock { state in
                guard !state.isClosed else { throw SettingsError.suiteFinished }
                guard try file.status() == base.status else { return nil }
                let reading = try file.commit(draft)
                state.reading = reading
                publish(reading.contents, origin: .local, &state, &news)
                return reading
            }
        } catch {
            file.discard(draft)
            throw error
        }
    }

    /// Does what is owed to a file that is in its place, and by which no change is undone if it fails.
    private func settle(_ draft: SettingsFile.Draft, _ reading: SettingsFile.Reading, _ news: inout News) {
        report("the change is made, and may not survive a loss of power", &news) { try file.synchronize(reading) }
        report("the change is made; should somebody break the file, older values serve", &news) {
            try file.keepLastGood(draft)
        }
    }

    private func report(_ consequence: String, _ news: inout News, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            var error = writeError(error)
            error.consequence = consequence
            news.errors.append(error)
        }
    }

    /// Whether a commit can be tried at all.
    func checkWritable() throws(SystemError) {
        let target = try SettingsPath.target(of: file.path, file.system)
        var directory = SettingsPath.directory(of: target)
        // A directory that is not there yet is made, so what counts is the one that it is made in.
        while try file.system.status(at: directory) == nil, directory != SettingsPath.directory(of: directory) {
            directory = SettingsPath.directory(of: directory)
        }
        try file.system.checkWritable(directory)
    }
}

extension StoreTransaction {
    /// The changes, with every value in the form in which it will be read from the file.
    fileprivate var storedAsJSON: [StoreChange] {
        changes.compactMap { change in
            let new = change.new?.storedAsJSON
            return change.old == new ? nil : StoreChange(key: change.key, old: change.old, new: new)
        }
    }
}

extension [String: StoredValue] {
    fileprivate func applying(_ changes: [StoreChange]) -> [String: StoredValue] {
        changes.reduce(into: self) { $0[$1.key] = $1.new }
    }
}
