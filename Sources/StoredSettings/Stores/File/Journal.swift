// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A journal that is open: the changes that are not in the settings file yet, and the page that tells every process how
/// far it has come.
///
/// Whoever appends, or changes the header, holds the journal's lock. Reading needs none: what is before the published
/// end does not change within an epoch, and what an epoch writes over is known by its checksums.
final class Journal: Sendable {
    let file: FileHandle
    let page: SharedPage
    let isWritable: Bool
    let system: SystemCalls
    /// Which journal it is: it has another number when it is begun anew, be it in the same file.
    let id: UInt64
    /// Which file it is, on which device.
    private let identity: (device: UInt64, inode: UInt64)
    private let forks = Forks.count

    /// Longer than this, in bytes, it is folded at once, and its records are moved to the front although new ones come.
    static let sizeBound = 1 << 22
    /// The space of a file that is not longer than this, in bytes, is kept for the next records.
    private static let keptSize = 1 << 16

    private init(_ file: FileHandle, _ status: FileStatus, isWritable: Bool, _ system: SystemCalls) throws {
        self.file = file
        self.isWritable = isWritable
        self.system = system
        identity = (status.device, status.inode)
        page = try SharedPage(file, isWritable: isWritable, system)
        id = page[JournalHeader.idWord]
    }

    /// Opens a journal.
    ///
    /// - Returns: The journal; `nil` when there is none, or one that nobody has begun yet.
    /// - Throws: ``SystemError``, or ``SettingsError`` when it is no journal that this version of the library knows.
    static func open(at path: String, _ system: SystemCalls) throws -> Journal? {
        var isWritable = true
        var file: FileHandle?
        do {
            // A FIFO in its place must not keep everybody waiting for a writer.
            file = try system.openIfPresent(path, O_RDWR | O_NONBLOCK)
        } catch {
            guard [EACCES, EPERM, EROFS].contains(error.number) else { throw error }
            file = try system.openIfPresent(path, O_RDONLY | O_NONBLOCK)
            isWritable = false
        }
        guard let file else { return nil }
        return try Journal.opened(file, isWritable: isWritable, system)
    }

    /// Opens a journal, and makes one where there is none.
    ///
    /// - Parameters:
    ///   - path: Where it is.
    ///   - model: Whose owner and permissions it gets if it is made.
    ///   - lock: Locks a file that is not a journal yet, while it becomes one.
    static func openOrCreate(
        at path: String,
        like model: FileStatus?,
        _ system: SystemCalls,
        lock: (FileHandle) throws -> Void
    ) throws -> Journal {
        if let journal = try open(at: path, system) { return journal }
        let file = try system.open(path, O_RDWR | O_CREAT | O_NONBLOCK, mode: SettingsFile.newFileMode)
        if let model { try system.copyPermissions(of: model, to: file) }
        try lock(file)
        // Somebody else may have been quicker.
        if let journal = try Journal.opened(file, isWritable: true, system) { return journal }
        // Never the epoch of one that was here before, whose readers are to notice.
        let words = JournalHeader.words(id: .random(in: 1 ... .max), epoch: .random(in: 1...UInt32.max / 2))
        let bytes = words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
        // The magic last: without it, nobody takes the file for a journal.
        try system.write(Array(bytes.dropFirst(8)), to: file, at: 8)
        try system.write(Array(bytes.prefix(8)), to: file)
        guard let journal = try Journal.opened(file, isWritable: true, system) else {
            throw SystemError(call: .write, path: path, number: EIO)
        }
        return journal
    }

    private static func opened(_ file: FileHandle, isWritable: Bool, _ system: SystemCalls) throws -> Journal? {
        let status = try system.status(of: file)
        guard status.isRegular else {
            throw SystemError(call: .open, path: file.path, number: status.isDirectory ? EISDIR : EINVAL)
        }
        guard status.size >= JournalHeader.size else { return nil }
        let journal = try Journal(file, status, isWritable: isWritable, system)
        let (magic, version) = (journal.page[JournalHeader.magicWord], journal.page[JournalHeader.versionWord])
        if magic == 0 { return nil }
        guard magic == JournalHeader.magic else { throw SettingsError.notAJournal(file.path) }
        guard version == JournalHeader.version else { throw SettingsError.newerJournal(file.path, version) }
        return journal
    }
}

// MARK: - State

extension Journal {
    /// How far the journal has come, as it was published last.
    var published: JournalGeneration {
        JournalGeneration(word: page[JournalHeader.generationWord])
    }

    /// The facts of the epoch, and how far it has come; `nil` when they do not fit together, because somebody is just
    /// changing them, or the header is damaged.
    var current: (epoch: JournalEpoch, generation: JournalGeneration)? {
        guard let epoch = JournalHeader.epoch(in: page) else { return nil }
        let published = published
        if published.epoch == epoch.epoch, published.end >= epoch.start { return (epoch, published) }
        // Whoever began the epoch has not published that yet, or has died before.
        if published.epoch == epoch.epoch &- 1, published.end == epoch.previousEnd { return (epoch, epoch.beginning) }
        return nil
    }

    /// Whether the memory is still this journal's: somebody may have cut off the file, and begun another journal in it.
    var isAlive: Bool { page[JournalHeader.idWord] == id }

    /// Whether the journal is still the one at the path.
    enum Place {
        case here
        /// The file is shorter than its records.
        case cut
        case elsewhere
    }

    /// - Parameter path: Where the journal should be.
    func place(at path: String) throws(SystemError) -> Place {
        guard forks == Forks.count, isAlive, let status = try system.status(at: path) else { return .elsewhere }
        guard (status.device, status.inode) == identity, status.size >= JournalHeader.size else { return .elsewhere }
        return status.size < Int(published.end) ? .cut : .here
    }

    /// Whether its records have been taken over into the journal that took its place.
    var isRetired: Bool { page[JournalHeader.retiredWord] != 0 }

    /// Tells all who use it that another one has taken its place and its records.
    func retire() {
        page[JournalHeader.retiredWord] = 1
        var generation = published
        generation.epoch &+= 1
        publish(generation)
    }
}

// MARK: - Records

extension Journal {
    /// What was found when records were read.
    struct Reading {
        var records: [JournalRecord]
        /// Where the last whole record ends.
        var end: UInt32
        /// Whether that is where they should end.
        var isWhole: Bool
    }

    /// Reads the records between two places.
    ///
    /// - Parameters:
    ///   - start: Where the first begins.
    ///   - end: Where the last ends; `nil` to read as far as there are any.
    ///   - epoch: Their epoch.
    func records(from start: UInt32, to end: UInt32?, epoch: UInt32) throws(SystemError) -> Reading {
        let size = if let end { Int(end) } else { try system.status(of: file).size }
        guard size >= Int(start) else { return Reading(records: [], end: start, isWhole: false) }
        let bytes = try system.contents(of: file, in: Int(start)..<size)
        var records: [JournalRecord] = []
        var offset = 0
        bytes.withUnsafeBytes { bytes in
            while offset < bytes.count, var record = JournalRecord.read(bytes, at: offset, epoch: epoch) {
                offset = record.end
                record.end += Int(start)
                records.append(record)
            }
        }
        let isWhole = Int(start) + offset == size
        return Reading(records: records, end: start + UInt32(offset), isWhole: isWhole)
    }

    /// The records that are not in the file, and how far the journal has come with them.
    struct Replay {
        var records: [JournalRecord]
        var position: JournalGeneration
        /// The published word.
        var word: UInt64
        var isWhole: Bool
    }

    /// Reads the records that are not in the file.
    ///
    /// - Parameter facts: The facts from before the file was read.
    /// - Returns: `nil` when another epoch has begun since, or the records are not right.
    func replay(from facts: JournalEpoch) throws(SystemError) -> Replay? {
        let word = published.word
        guard let (epoch, generation) = current, epoch.epoch == facts.epoch, generation.end >= facts.folded else {
            return nil
        }
        let reading = try records(from: facts.folded, to: generation.end, epoch: epoch.epoch)
        guard reading.isWhole else { return nil }
        return Replay(records: reading.records, position: generation, word: word, isWhole: true)
    }

    /// Reads what is right in a journal that is damaged.
    func salvage() throws(SystemError) -> Replay {
        let published = published
        // The facts of the epoch may be lost, or the word that says how far it has come.
        var reading = try records(from: UInt32(JournalHeader.size), to: nil, epoch: published.epoch)
        if let epoch = JournalHeader.epoch(in: page), reading.records.isEmpty || epoch.epoch == published.epoch {
            var end: UInt32?
            if epoch.epoch == published.epoch, published.end >= epoch.folded {
                end = try min(published.end, UInt32(clamping: system.status(of: file).size))
            }
            reading = try records(from: epoch.folded, to: end, epoch: epoch.epoch)
        }
        let position = JournalGeneration(epoch: published.epoch, end: reading.end)
        return Replay(records: reading.records, position: position, word: published.word, isWhole: false)
    }

    /// Appends a record and publishes it.
    ///
    /// - Returns: How far the journal has come with it.
    func append(_ record: [UInt8], after generation: JournalGeneration) throws -> JournalGeneration {
        let (end, isOverflow) = generation.end.addingReportingOverflow(UInt32(clamping: record.count))
        guard !isOverflow else { throw SystemError(call: .write, path: file.path, number: EFBIG) }
        try keepLimit(for: end)
        try system.write(record, to: file, at: Int(generation.end))
        let generation = JournalGeneration(epoch: generation.epoch, end: end)
        publish(generation)
        return generation
    }

    /// Makes the disk have the header before records are written over that the header on the disk counts on.
    private func keepLimit(for end: UInt32) throws(SystemError) {
        let limit = page[JournalHeader.limitWord]
        guard limit != 0, UInt64(end) > limit else { return }
        try synchronize()
        page[JournalHeader.limitWord] = 0
    }

    func publish(_ generation: JournalGeneration) {
        page[JournalHeader.generationWord] = generation.word
        page.didPublish()
    }

    /// Changes the facts of the epoch.
    func store(_ epoch: JournalEpoch) {
        var epoch = epoch
        epoch.serial += 1
        JournalHeader.store(epoch, in: page)
    }

    /// Returns once all that is in the journal survives a loss of power.
    func synchronize() throws(SystemError) {
        try system.synchronizeContents(of: file)
    }
}

// MARK: - Epochs

extension Journal {
    /// Begins an epoch with some changes, which are all that is not in the settings file.
    ///
    /// - Parameters:
    ///   - start: Where to write. What the header on the disk counts on must not be written over.
    ///   - changes: The changes.
    ///   - folded: What of the epoch before is in the settings file.
    ///   - previousEnd: Where the one before ended, when these changes and the file are what it had come to.
    ///   - limit: Where records have to stop until the disk has the new header.
    func begin(
        at start: UInt32,
        with changes: [StoreChange],
        folded: UInt32,
        previousEnd: UInt32,
        limit: UInt32 = 0
    ) throws -> JournalGeneration {
        let last = JournalHeader.epoch(in: page)
        let number = max(last?.epoch ?? 0, published.epoch) &+ 1
        let record = changes.isEmpty ? [] : try JournalRecord.bytes(of: changes, epoch: number)
        try system.write(record, to: file, at: Int(start))
        let epoch = JournalEpoch(
            serial: last?.serial ?? 0,
            epoch: number,
            start: start,
            folded: start,
            firstEnd: start + UInt32(record.count),
            previousEnd: previousEnd,
            previousFolded: folded
        )
        page[JournalHeader.limitWord] = UInt64(limit)
        store(epoch)
        publish(epoch.beginning)
        return epoch.beginning
    }

    /// Gives back the space of an epoch that is gone, if it is much.
    func shorten() {
        do {
            guard try system.status(of: file).size > Self.keptSize, published.end == UInt32(JournalHeader.size) else {
                return
            }
            try system.truncate(file, to: JournalHeader.size)
        } catch {
            // It is as long as before, which does no harm.
        }
    }
}
