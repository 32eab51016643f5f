// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

/// Compares the journal with the format in Documentation/FileFormat.md, which is read and written here byte by byte.
@Suite("The journal format")
struct JournalFormatTests {
    /// The checksum that the documentation defines.
    private static func checksum(_ words: [UInt64], salt: UInt64) -> UInt64 {
        words.reduce(0xCBF2_9CE4_8422_2325 ^ salt) { sum, word in
            let product = (sum ^ word) &* 0x9E37_79B9_7F4A_7C15
            return product ^ (product >> 32)
        }
    }

    private static func words(_ bytes: some Sequence<UInt8>) -> [UInt64] {
        let bytes = Array(bytes)
        return stride(from: 0, to: bytes.count, by: 8)
            .map { start in (0..<8).reduce(0) { $0 | UInt64(bytes[start + $1]) << (8 * $1) } }
    }

    private static func bytes(_ words: [UInt64]) -> [UInt8] {
        words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    }

    /// A record with a JSON string.
    private static func record(_ text: String, keyLength: UInt64 = 0, epoch: UInt64, salt: UInt64) -> [UInt8] {
        let text = Array(text.utf8)
        let length = (24 + text.count + 7) / 8 * 8
        var words = [UInt64(length) | epoch << 32, 0, UInt64(text.count) | keyLength << 32]
        words += self.words(text + [UInt8](repeating: 0, count: length - 24 - text.count))
        words[1] = checksum([words[0]] + words[2...], salt: salt)
        return bytes(words)
    }

    @Test(
        "a commit enters an epoch that a killed process has begun and not published, also if that process had the lock",
        arguments: [false, true]
    )
    func unpublishedByKilledProcess(hadLock: Bool) async throws {
        try await withSettingsPath { path in
            let store = makeStore(path)
            try store.commit { $0["a"] = 1 }
            let journal = try #require(store.peek { $0.journal.journal })
            let (epoch, position) = try #require(journal.current)
            var next = epoch
            (next.epoch, next.previousEnd, next.previousCheckpointed) = (epoch.epoch &+ 1, position.end, position.end)
            do {
                let killed = try #require(try Journal.open(at: FilePath(path + ".journal"), SystemCalls()))
                if hadLock { #expect(try killed.lock.acquireIfFree()) }
                killed.store(next)
            }
            #expect(journal.published == position && journal.lock.isHeld == hadLock)
            try store.write(2, forKey: "b")
            #expect(journal.published.epoch == next.epoch)
            try store.checkpoint()
            let (suite, reporter) = (makeStore(path), RecordingReporter())
            #expect(SettingsSuite(store: suite, reporter: reporter).snapshot() == ["a": 1, "b": 2])
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == ["a": 1, "b": 2])
            #expect(reporter.errors.map(\.message) == [])
        }
    }

    @Test(
        "a journal that replaces another knows of the settings file what that one knew",
        arguments: [false, true]
    )
    func replacing(isCheckpointed: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let (path, reporter) = (directory + "/settings.json", RecordingReporter())
            let store = makeStore(path)
            let suite = SettingsSuite(store: store, reporter: reporter)
            try await suite.setStoredValue(1, forKey: "a")
            try await suite.checkpoint()
            let old = try #require(store.peek { $0.journal.journal })
            old.markUnreliable()
            try await suite.setStoredValue(2, forKey: "a")
            try await suite.synchronize()
            #expect(store.peek { $0.journal.journal } !== old)
            // A checkpoint would show as well that there was a file.
            if isCheckpointed {
                // The copy is known to be this library's, whatever it holds.
                try (path + ".last-good").overwriteFile(with: "damaged by a disk")
                try await suite.checkpoint()
                #expect(reporter.errors.map(\.message) == [])
                #expect(try (path + ".last-good").fileContents == path.fileContents)
            }
            // There was a file, so that its absence is no fresh start.
            for suffix in ["", ".last-good"] { try FileManager.default.removeItem(atPath: path + suffix) }
            #expect(makeStore(path).problem?.code == .readFailed)
        }
    }

    @Test("a set writes the documented bytes")
    func written() async throws {
        try await withSettingsPath { path in
            let store = makeStore(path)
            try store.commit { $0["port"] = 9090 }
            try store.commit {
                $0["port"] = nil
                $0["na\"me"] = ["x", 1.5, nil]
            }
            let journal = try [UInt8](Data(contentsOf: URL(filePath: path + ".journal")))
            let header = Self.words(journal.prefix(4_096))
            let (epoch, salt) = (header[8] >> 32, header[72])
            let records =
                Self.record(#"{"port":[9090]}"#, keyLength: 6, epoch: epoch, salt: salt)
                + Self.record(#"{"na\"me":[["x",1.5,null]],"port":[]}"#, epoch: epoch, salt: salt)
            #expect(Array(journal.dropFirst(4_096).prefix(records.count)) == records)
            #expect(journal.dropFirst(4_096 + records.count).allSatisfy { $0 == 0 })
            #expect(Array(journal.prefix(8)) == Array("SSJOURNL".utf8))
            #expect(header[1] == 3)
            #expect(header[2] != 0)
            #expect(header[8] & 0xFFFF_FFFF == UInt64(4_096 + records.count))
            let facts: [UInt64] = [1, epoch, 4_096, 4_096, 4_096, 0, 0]
            #expect(Array(header[64..<72]) == facts + [Self.checksum(facts, salt: salt)])
            #expect(salt != 0)
            // The lock is free, and was acquired twice.
            #expect(header[24] == 2 << 32)
            #expect((1..<1 << 30).contains(header[31]))
            #expect(header[26] == UInt64(journal.count))
            let known = Set([0, 1, 2, 8, 24, 26] + Array(28..<32) + Array(64..<73))
            #expect(header.indices.allSatisfy { header[$0] == 0 || known.contains($0) })
        }
    }

    /// Writes a journal with three records, the first of which is in the settings file.
    private func writeJournal(headerEpoch: UInt64 = 7, beside path: String) throws {
        let salts: [UInt64] = [0x1234, 0xFEDC_BA98_7654_3210]
        let old = Self.record(#"{"a":[111]}"#, epoch: 7, salt: salts[1])
        let new =
            Self.record(#"{"a":[10],"gone":[]}"#, epoch: 7, salt: salts[1])
            + Self.record(#"{"c":["é"]}"#, epoch: 7, salt: salts[1])
        var header = [UInt64](repeating: 0, count: 512)
        header[0] = Self.words("SSJOURNL".utf8)[0]
        header[1] = 3
        header[2] = 42
        let end = UInt64(4_096 + old.count + new.count)
        header[8] = 7 << 32 | end
        // The second copy contains the newer facts: the first record is in the settings file.
        let older: [UInt64] = [5, 7, 4_096, 4_096, 4_096, 0, 0]
        let newer: [UInt64] = [6, headerEpoch, 4_096, UInt64(4_096 + old.count), 4_096, 0, 0]
        header.replaceSubrange(64..<73, with: older + [Self.checksum(older, salt: salts[0]), salts[0]])
        header.replaceSubrange(128..<137, with: newer + [Self.checksum(newer, salt: salts[1]), salts[1]])
        try Data(Self.bytes(header) + old + new).write(to: URL(filePath: path + ".journal"))
    }

    @Test("a journal that another program has written in the documented format is read")
    func read() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"a": 1, "b": 2, "gone": 3}"#)
            try writeJournal(beside: path)
            let store = makeStore(path)
            #expect(store.contents() == ["a": 10, "b": 2, "c": "é"])
            try store.checkpoint()
            #expect(try path.fileContents == #"{"a": 10, "b": 2, "c": "é"}"#)
        }
    }

    @Test(
        "a header with the highest number of an epoch, or a high one, does not hide later sets from other processes",
        arguments: [UInt32.max, UInt32.max - 1_000],
        [false, true]
    )
    func highestEpoch(epoch: UInt32, hasPosition: Bool) async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"b": 2}"#)
            try writeJournal(beside: path)
            let reader = makeStore(path)
            #expect(reader.value(forKey: "c") == "é")
            // The file remains the same, so the reader continues to use it.
            try writeJournal(headerEpoch: UInt64(epoch), beside: path)
            if !hasPosition {
                try JournalFile(of: path).overwriteWord(at: JournalFile.positionOffset, with: 0xF48)
                _ = reader.contents()
            }
            let store = makeStore(path)
            try store.commit { $0["d"] = 4 }
            #expect(reader.value(forKey: "d") == 4)
        }
    }

    @Test("reading does not change an allocated length that is too large, and sets tolerate it")
    func allocatedLength() async throws {
        try await withSettingsPath { path in
            try makeStore(path).commit { $0["a"] = 1 }
            let journal = JournalFile(of: path)
            try journal.overwriteWord(at: JournalHeader.Word.allocated.rawValue * 8, with: 1 << 32)
            let bytes = try journal.bytes
            let store = makeStore(path)
            #expect(store.value(forKey: "a") == 1)
            store.look()
            #expect(try journal.bytes == bytes)
            try store.commit { $0["b"] = 2 }
            try store.write(3, forKey: "b")
            #expect(makeStore(path).contents() == ["a": 1, "b": 3])
        }
    }
}
