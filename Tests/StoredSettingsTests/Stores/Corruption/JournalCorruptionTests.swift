// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A corrupt journal")
struct JournalCorruptionTests {
    private typealias Expectation = JournalTrial.Expectation

    /// A part of the work, so that the parts run in parallel.
    struct Share: CustomTestStringConvertible {
        static let count = 4
        /// The number of cases of each share in the quick tier.
        static let sample = 12

        var checkpoints: Int
        var number: Int

        var salt: Int { checkpoints * Self.count + number }

        /// All shares of the three samples.
        static let all = (0..<3)
            .flatMap { checkpoints in (0..<count).map { Share(checkpoints: checkpoints, number: $0) } }

        var testDescription: String { "checkpointed \(checkpoints) times, share \(number)" }
    }

    @Test("a truncated journal returns its complete records, wherever it is truncated", arguments: Share.all)
    func truncation(share: Share) async throws {
        try await withTrial(of: share) { trial in
            let (journal, ends) = (trial.sample.journal, trial.sample.ends)
            let end = ends.last ?? 0
            // Without a complete header, the file counts as a journal whose creation has not finished.
            let counts = stride(from: share.number, to: journal.count, by: Share.count)
                .filter { share.checkpoints == 0 || $0 >= JournalHeader.size }
            for count in counts.sampled(Share.sample, salt: share.salt) {
                let whole = count < JournalHeader.size ? 0 : ends.lastIndex { $0 <= count } ?? 0
                let expectation = Expectation(
                    counts: whole...whole,
                    code: count >= end || count < JournalHeader.size ? nil : .malformedJournal,
                    isReportOptional: count < JournalHeader.size
                )
                let isSetting = count > JournalHeader.size - 8 || count % 64 < Share.count
                try trial.run(Array(journal.prefix(count)), "cut to \(count)", isSetting: isSetting, expectation)
            }
        }
    }

    @Test(
        "a record with a flipped bit is ignored with all later records, and earlier records are read",
        arguments: Share.all
    )
    func records(share: Share) async throws {
        try await withTrial(of: share) { trial in
            let ends = trial.sample.ends
            let bits = Array(
                stride(from: ends[0] * 8 + share.number, to: trial.sample.journal.count * 8, by: Share.count)
            )
            for bit in bits.sampled(Share.sample, salt: share.salt) {
                let whole = ends.lastIndex { $0 <= bit / 8 } ?? 0
                // Records of an earlier epoch may follow the last record.
                let code: SettingsError.Code? = whole == ends.count - 1 ? nil : .malformedJournal
                try flip(
                    bit,
                    in: trial,
                    isSetting: bit % 16 < Share.count,
                    Expectation(counts: whole...whole, code: code)
                )
            }
        }
    }

    @Test(
        "a header with a flipped bit leaves all records, the first of them or none, and is reported",
        arguments: Share.all
    )
    func header(share: Share) async throws {
        try await withTrial(of: share) { trial in
            let last = trial.sample.states.count - 1
            // No behavior depends on most words. One journal is enough to check that.
            let bits = stride(from: share.number, to: JournalHeader.size * 8, by: Share.count)
                .filter { share.checkpoints == 1 || JournalHeader.hasMeaning(word: $0 / 64) }
            // Half of the sample is for the words that have a meaning.
            let meaningful = bits.filter { JournalHeader.hasMeaning(word: $0 / 64) }
            let sample =
                bits.sampled(Share.sample, salt: share.salt) + meaningful.sampled(Share.sample, salt: share.salt)
            for bit in TestRun.isExhaustive ? bits : sample {
                let word = bit / 64
                let expectation: Expectation
                switch word {
                case JournalHeader.Word.magic.rawValue:
                    expectation = Expectation(counts: 0...0, code: .malformedJournal, canSet: false)
                case JournalHeader.Word.version.rawValue:
                    expectation = Expectation(counts: 0...0, code: .newerFormat, canSet: false)
                case JournalHeader.Word.position.rawValue:
                    // The word may contain an earlier end of the records.
                    expectation = Expectation(counts: 0...last, code: .malformedJournal, isReportOptional: true)
                case 64..<73, 128..<137:
                    expectation = Expectation(counts: 0...last, code: .malformedJournal, isReportOptional: true)
                default:
                    expectation = Expectation(counts: last...last, code: nil)
                }
                try flip(bit, in: trial, isSetting: word < 16 || bit % 32 < Share.count, expectation)
            }
        }
    }

    @Test("facts of an epoch with the highest serial number do not crash the process")
    func highestSerial() async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let sample = try JournalSample(in: directory, checkpoints: 0)
            var journal = sample.journal
            for index in 512..<520 { journal[index] = .max }
            var checksum = Checksum(salt: journal[576..<584].reversed().reduce(0) { $0 << 8 | UInt64($1) })
            for offset in stride(from: 512, to: 568, by: 8) {
                checksum.add(journal[offset..<offset + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) })
            }
            for index in 0..<8 {
                journal[568 + index] = UInt8(truncatingIfNeeded: checksum.value >> UInt64(index * 8))
            }
            let path = directory + "/settings.json"
            try sample.write(to: path)
            try JournalSample.replace(path + ".journal", with: journal)
            let store = makeStore(path)
            #expect(store.contents() == sample.last)
            let reader = makeStore(path)
            #expect(reader.contents() == sample.last)
            try store.commit { $0["new"] = 9 }
            try store.checkpoint()
            try store.commit { $0["a"] = 9 }
            #expect(store.contents() == sample.last.merging(["new": 9, "a": 9]) { $1 })
            #expect(reader.contents() == store.contents())
            try store.checkpoint()
            #expect(makeStore(path).contents()["new"] == 9)
        }
    }

    @Test("a damaged journal of the maximum length is not read to its end")
    func endless() async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let sample = try JournalSample(in: directory, checkpoints: 0)
            let path = directory + "/settings.json"
            try sample.write(to: path)
            // The records are missing, and the header states that they are 4 GB long.
            var journal = Array(sample.journal.prefix(JournalHeader.size))
            for index in 64..<68 { journal[index] = index == 64 ? 0xF0 : 0xFF }
            try JournalSample.replace(path + ".journal", with: journal)
            #expect(truncate(path + ".journal", 5 << 30) == 0)
            let counter = CallCounter()
            let store = makeStore(path, counter.system)
            #expect(store.contents() == sample.states[0])
            try store.commit { $0["new"] = 9 }
            #expect(makeStore(path).contents()["new"] == 9)
            // Thousands, if it were read to its end.
            #expect(counter.count(.read) < 100)
        }
    }

    @Test("a record whose length is damaged is not read to its end", arguments: [1 << 28, 0xFFFF_EFF8])
    func endlessRecord(length: Int) async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/settings.json"
            try JournalSample(in: directory, checkpoints: 0).write(to: path)
            let epoch = try #require(try Journal.open(at: FilePath(path + ".journal"), SystemCalls())?.current?.epoch)
            var bytes = try JournalFile(of: path).bytes
            for (offset, word) in [(0, UInt32(length)), (4, epoch.epoch)] {
                for index in 0..<4 {
                    bytes[Int(epoch.start) + offset + index] = UInt8(truncatingIfNeeded: word >> UInt32(index * 8))
                }
            }
            try JournalSample.replace(path + ".journal", with: bytes)
            // The space behind the records takes no room.
            #expect(truncate(path + ".journal", off_t(length) + 4_096) == 0)
            let counter = CallCounter()
            let journal = try #require(try Journal.open(at: FilePath(path + ".journal"), counter.system))
            let reads = counter.count(.read)
            let reading = try journal.validRecords(from: epoch.start, to: nil, epoch: epoch.epoch, salt: epoch.salt)
            #expect(reading.records.isEmpty)
            // Of the first part, which is short.
            #expect(counter.count(.read) == reads + 1)
        }
    }

    private func flip(_ bit: Int, in trial: JournalTrial, isSetting: Bool, _ expectation: Expectation) throws {
        var journal = trial.sample.journal
        journal[bit / 8] ^= 1 << UInt8(bit % 8)
        try trial.run(journal, "byte \(bit / 8), bit \(bit % 8) flipped", isSetting: isSetting, expectation)
    }

    private func withTrial(of share: Share, _ body: @escaping @Sendable (JournalTrial) throws -> Void) async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            try await blocking {
                let sample = try JournalSample(in: directory, checkpoints: share.checkpoints)
                try body(JournalTrial(of: sample, in: directory, label: share.testDescription))
            }
        }
    }
}

extension JournalHeader {
    /// Whether readers use a word of the header.
    fileprivate static func hasMeaning(word: Int) -> Bool { word < 16 || 64..<73 ~= word || 128..<137 ~= word }
}
