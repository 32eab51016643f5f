// SPDX-License-Identifier: Apache-2.0

/// Reads the records of a journal.
///
/// This needs no lock: see ``Journal``.
package struct JournalReader {
    private let journal: Journal
    private var file: FileHandle { journal.file }
    private var system: SystemCalls { journal.system }

    package init(_ journal: Journal) {
        self.journal = journal
    }

    /// The result of reading records.
    package struct Reading {
        package var records: [JournalRecord]
        /// The end of the last valid record.
        var end: UInt32
        /// Whether the records end where they should.
        package var isWhole: Bool
    }

    /// Reads the records between two offsets.
    ///
    /// - Parameters:
    ///   - start: The start of the first record.
    ///   - end: The end of the last record; `nil` to read as many as there are.
    ///   - epoch: The epoch of the records.
    ///   - salt: The salt of the epoch.
    ///   - isOmittingReplaced: Whether a record may be omitted if the next one sets the same key.
    /// - Returns: The valid records before the first invalid one.
    /// - Throws: ``SystemError`` if they cannot be read.
    package func records(
        from start: UInt32,
        to end: UInt32?,
        epoch: UInt32,
        salt: UInt64,
        omittingReplaced isOmittingReplaced: Bool = false
    ) throws(SystemError) -> Reading {
        let size = try min(system.status(of: file).size, Int(end ?? .max))
        var reading = Reading(records: [], end: start, isWhole: false)
        // In parts, because a damaged journal may claim to be much longer than it is.
        var length = Self.partLength
        while Int(reading.end) < size {
            let part = Int(reading.end)..<min(Int(reading.end) + length, size)
            let bytes = try system.contents(of: file, in: part)
            let wholeLength = bytes.withUnsafeBytes { bytes in
                var following = RecordText(bytes, at: 0, epoch: epoch, salt: salt)
                while let text = following {
                    following = RecordText(bytes, at: text.end, epoch: epoch, salt: salt)
                    if isOmittingReplaced, let following, text.isReplaced(by: following) { continue }
                    guard var record = text.record else { break }
                    record.end += part.lowerBound
                    reading.end = UInt32(record.end)
                    reading.records.append(record)
                }
                return JournalRecord.length(ofCut: bytes, epoch: epoch)
            }
            if Int(reading.end) > part.lowerBound {
                length = Self.partLength
            } else {
                // A record may be longer than a part, and states so. Anything else ends the search.
                guard let wholeLength, part.lowerBound + wholeLength <= size else { break }
                length = wholeLength
            }
        }
        reading.isWhole = end.map { $0 == reading.end } ?? true
        return reading
    }

    /// The number of bytes to read at once.
    private static let partLength = 1 << 16

    /// The records that are not in the file, and the journal's position after them.
    struct Replay {
        var records: [JournalRecord]
        var position: JournalPosition
        /// The salt of the epoch.
        var salt: UInt64
        /// The published word.
        var word: UInt64
        var isWhole: Bool
    }

    /// Reads the records that are not in the file.
    ///
    /// - Parameter known: The epoch as it was before the file was read.
    /// - Returns: `nil` when another epoch has begun since, or the records are invalid.
    /// - Throws: ``SystemError`` if they cannot be read.
    func replay(from known: JournalEpoch) throws(SystemError) -> Replay? {
        let word = journal.published.word
        guard let (epoch, position) = journal.current, epoch.epoch == known.epoch, position.end >= known.checkpointed
        else {
            return nil
        }
        let reading = try records(from: known.checkpointed, to: position.end, epoch: epoch.epoch, salt: epoch.salt)
        guard reading.isWhole else { return nil }
        return Replay(
            records: reading.records,
            position: position,
            salt: epoch.salt,
            word: word,
            isWhole: true
        )
    }

    /// Reads the valid records of a damaged journal.
    func salvage() throws(SystemError) -> Replay {
        let published = journal.published
        // The epoch in the header may be lost, or the word with the journal's position.
        let epochs = JournalHeader.epochs(in: journal.page)
        let newest = epochs.first { $0.epoch == published.epoch } ?? epochs.first
        let salt = newest?.salt ?? 0
        var reading = try records(from: UInt32(JournalHeader.size), to: nil, epoch: published.epoch, salt: salt)
        if let epoch = newest, reading.records.isEmpty || epoch.epoch == published.epoch {
            var end: UInt32?
            if epoch.epoch == published.epoch, published.end >= epoch.checkpointed {
                end = try min(published.end, UInt32(clamping: system.status(of: file).size))
            }
            reading = try records(from: epoch.checkpointed, to: end, epoch: epoch.epoch, salt: salt)
        }
        let position = JournalPosition(epoch: published.epoch, end: reading.end)
        return Replay(
            records: reading.records,
            position: position,
            salt: salt,
            word: published.word,
            isWhole: false
        )
    }
}
