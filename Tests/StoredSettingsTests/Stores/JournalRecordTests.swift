// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import StoredSettings

@Suite("JournalRecord")
struct JournalRecordTests {
    private static let epoch: UInt32 = 7
    /// The offset of a record's string, whose length is stored in the 4 bytes at `lengthOffset`.
    private static let headerSize = 24
    private static let lengthOffset = 16
    private static let keyLengthOffset = 20
    private static let checksumOffset = 8

    /// A record whose header states another length of the string, with a correct checksum.
    private static func record(_ body: String, claiming length: Int, keyLength: Int = 0) -> [UInt8] {
        let padding = (8 - body.utf8.count % 8) % 8
        var bytes = [UInt8](repeating: 0, count: headerSize) + Array(body.utf8)
        bytes += [UInt8](repeating: UInt8(ascii: " "), count: padding)
        func put(_ word: UInt64, _ size: Int, at offset: Int) {
            for index in 0..<size { bytes[offset + index] = UInt8(truncatingIfNeeded: word >> UInt64(8 * index)) }
        }
        put(UInt64(bytes.count), 4, at: 0)
        put(UInt64(epoch), 4, at: 4)
        put(UInt64(length), 4, at: lengthOffset)
        put(UInt64(keyLength), 4, at: keyLengthOffset)
        put(bytes.withUnsafeBytes { JournalRecord.checksum(of: $0, salt: 0) }, 8, at: checksumOffset)
        return bytes
    }

    private func read(_ bytes: [UInt8], at start: Int = 0) -> JournalRecord? {
        bytes.withUnsafeBytes { ValidRecord($0, at: start, epoch: Self.epoch, salt: 0)?.record }
    }

    @Test("a record that would be too long is refused, and changes that were committed before take several records")
    func tooLong() throws {
        let changes = (0..<10).map { StoreChange(key: "key\($0)", old: nil, new: .integer(Int128($0))) }
        let whole = try JournalRecord.bytes(of: changes, epoch: Self.epoch, salt: 1)
        #expect(try JournalRecord.bytes(of: changes, epoch: Self.epoch, salt: 1, longest: whole.count) == whole)
        expectError(.unstorable) {
            _ = try JournalRecord.bytes(of: changes, epoch: Self.epoch, salt: 1, longest: whole.count - 1)
        }
        let parts = try JournalRecord.bytesOfRecords(of: changes, epoch: Self.epoch, salt: 1, longest: 64)
        var values: [String: StoredValue?] = [:]
        var ends: [Int] = []
        while (ends.last ?? 0) < parts.count {
            let last = ends.last ?? 0
            let record = try #require(
                parts.withUnsafeBytes { ValidRecord($0, at: last, epoch: Self.epoch, salt: 1)?.record }
            )
            #expect(record.end - last <= 64)
            values.merge(record.values) { $1 }
            ends.append(record.end)
        }
        #expect(ends.count > 2)
        #expect(values.count == 10 && changes.allSatisfy { values[$0.key] == $0.new })
        expectError(.unstorable) {
            _ = try JournalRecord.bytesOfRecords(of: changes, epoch: Self.epoch, salt: 1, longest: 16)
        }
        #expect(SettingsError.recordTooLong(JournalRecord.longest).fact.contains("64 MiB"))
    }

    @Test("a string as long as its body is read", arguments: [#"{"ab":[12345678]}"#, #"{"a":[ "bcdefg"]}"#, "{}"])
    func wholeBody(text: String) throws {
        let spaces = String(repeating: " ", count: (8 - text.utf8.count % 8) % 8)
        for body in [text, text + spaces] {
            let bytes = Self.record(body, claiming: body.utf8.count)
            let record = try #require(read(bytes))
            #expect(record.end == bytes.count)
            #expect(record.values.count == (text == "{}" ? 0 : 1))
        }
    }

    @Test(
        "the stated length of a record's key does not change how the record is read",
        arguments: [0, 1, 2, 3, 4, 7, 8, 9, 10, 1 << 20, Int(UInt32.max)]
    )
    func keyLength(length: Int) throws {
        for text in [#"{"a":[1]}"#, "{}", "{"] {
            let record = read(Self.record(text, claiming: text.utf8.count, keyLength: length))
            #expect(record?.values == (text == "{" ? nil : text == "{}" ? [:] : ["a": 1]))
        }
    }

    @Test(
        "a record whose string is longer than its body is invalid, whatever bytes follow it",
        arguments: [1, 2, 7, 8, 9, 24, 32, 1 << 20, Int(UInt32.max) - 24]
    )
    func longerThanBody(excess: Int) throws {
        let body = #"{"a":[1],"b":[2 "#
        let bytes = Self.record(body, claiming: body.utf8.count + excess)
        // At the end of the bytes, and before bytes that would complete the string.
        #expect(read(bytes) == nil)
        for rest in ["]}", "     ]}", "      ]}", "       ]}"] {
            let following = Array((rest + String(repeating: " ", count: 64)).utf8)
            #expect(read(bytes + following) == nil)
            #expect(read([UInt8](repeating: 0, count: 8) + bytes + following, at: 8) == nil)
        }
        #expect(read(Self.record(#"{"a":[1],"b":[2]}"#, claiming: 17))?.values == ["a": 1, "b": 2])
    }
}
