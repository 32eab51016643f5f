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
            var transaction = StoreTransaction(base: try freshContents(&news))
            let result = try body(&transaction)
            try save(transaction.storedAsJSON, &news)
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

    /// The contents to begin with.
    ///
    /// Those of a file that cannot be read are not to be built on.
    private func freshContents(_ news: inout News) throws -> [String: StoredValue] {
        while true {
            let (contents, defect, isMissing) = try state.withLock { state in
                guard !state.isClosed else { throw SettingsError.suiteFinished }
                refresh(&state, &news)
                return (state.contents, state.defect, state.missingSince != nil)
            }
            if defect == nil, !isMissing { return contents }
            if let defect, !defect.isPassing { throw defect.error }
            // Somebody may be in the middle of writing the file. It is soon whole, or old enough to be called broken.
            SystemCalls.sleep(seconds: 0.01)
        }
    }

    /// Writes changes to the file, over what is in it by then: others who write it may know of no lock.
    private func save(_ changes: [StoreChange], _ news: inout News) throws {
        while !changes.isEmpty {
            let contents = try freshContents(&news).applying(changes)
            do {
                let draft = try file.draft(contents, replacing: try file.status())
                guard let reading = try replace(with: draft, &news) else { continue }
                return settle(draft, reading, &news)
            } catch {
                throw writeError(error)
            }
        }
    }

    /// Puts a draft in the file's place, unless the file has been changed since it was read.
    private func replace(with draft: SettingsFile.Draft, _ news: inout News) throws -> SettingsFile.Reading? {
        do {
            return try state.withLock { state in
                guard !state.isClosed else { throw SettingsError.suiteFinished }
                guard try file.status() == state.reading?.status else { return nil }
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
