// SPDX-License-Identifier: Apache-2.0

import TestSupport

/// Corrupts settings files, in the same ways in every run.
struct FileMutator {
    /// Small files, some as this library writes them and some as a user does.
    static let files: [[UInt8]] = [
        "{\n  \"hosts\": [\n    \"a\",\n    \"b\"\n  ],\n  \"log.level\": \"debug\",\n  \"port\": 9090\n}\n",
        #"{"rate": -12.5e-3, "gone": null, "é😀": {"deep": [[], {}, true]}, "max": 18446744073709551615}"#,
        "\u{FEFF}{\r\n\t\"text\" : \"\\\"\\u00e9\\uD83D\\uDE00\\n\",\r\n\t\"on\" : false\r\n}\r\n",
        #"{"date":"2026-01-02T03:04:05.678Z","data":"AAEC/w==","":0.1}"#,
        "{}\n",
    ]
    .map { Array($0.utf8) }

    /// Bytes with a meaning in JSON, and bytes that are invalid in UTF-8.
    private static let significantBytes =
        Array(#"{}[]",:\u0019-+.eE tfn/"#.utf8) + [0, 0x0A, 0x0D, 0x7F, 0x80, 0xC3, 0xED, 0xFF]

    private var random: SeededGenerator

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    /// A random file with one or more random changes.
    mutating func next() -> [UInt8] {
        var file = anyFile()
        repeat { change(&file) } while below(3) == 0
        return file
    }

    private mutating func change(_ file: inout [UInt8]) {
        let (part, position) = (range(in: file), below(file.count + 1))
        switch below(9) {
        case 0 where !file.isEmpty: file[below(file.count)] ^= 1 << UInt8(below(8))
        case 1 where !file.isEmpty: file[below(file.count)] = significantByte()
        case 2: file.removeLast(file.count - position)
        case 3: file.removeSubrange(part)
        case 4: file.insert(contentsOf: (0...below(4)).map { _ in significantByte() }, at: position)
        case 5: file.insert(contentsOf: Array(file[part]), at: position)
        case 6: swapNeighbors(&file)
        case 7: splice(&file)
        default: file.insert(UInt8(truncatingIfNeeded: random.next()), at: position)
        }
    }

    private mutating func swapNeighbors(_ file: inout [UInt8]) {
        let ends = [below(file.count + 1), below(file.count + 1), below(file.count + 1)].sorted()
        file = Array(file[..<ends[0]] + file[ends[1]..<ends[2]] + file[ends[0]..<ends[1]] + file[ends[2]...])
    }

    /// Joins the start of the file and the end of another file.
    private mutating func splice(_ file: inout [UInt8]) {
        let other = anyFile()
        file = Array(file.prefix(below(file.count + 1)) + other.suffix(below(other.count + 1)))
    }

    private mutating func anyFile() -> [UInt8] {
        Self.files[below(Self.files.count)]
    }

    private mutating func significantByte() -> UInt8 {
        Self.significantBytes[below(Self.significantBytes.count)]
    }

    private mutating func range(in file: [UInt8]) -> Range<Int> {
        let start = below(file.count + 1)
        return start..<start + below(file.count - start + 1)
    }

    private mutating func below(_ bound: Int) -> Int {
        Int(truncatingIfNeeded: random.next() >> 33) % bound
    }
}
