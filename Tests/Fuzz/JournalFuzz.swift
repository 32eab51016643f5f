// SPDX-License-Identifier: Apache-2.0

// Compiled by `.ci/fuzz journal` together with the library, as one module.

import Foundation

/// Opens a store beside whose settings file some bytes are the journal, reads it, sets in it, checkpoints it, and looks each
/// time whether others see the same and nothing is lost.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJournal(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // The bytes are the fuzzer's, which holds them until this function returns.
    let input = JournalInput(UnsafeBufferPointer(start: start, count: count))
    do {
        try JournalTrial(input).run()
    } catch {
        expect(false, "a file of the test's own could not be used: \(error)")
    }
    return 0
}

/// Journals that are right, which the fuzzer begins with.
@_cdecl("LLVMFuzzerInitialize")
public func seedJournal(
    _ argumentCount: UnsafeMutablePointer<CInt>?,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> CInt {
    do {
        var seeds = JournalInput.seeds
        for checkpoints in 0..<3 { seeds.append(try JournalTrial.journal(checkpoints: checkpoints)) }
        writeSeeds(seeds)
    } catch {
        expect(false, "a journal cannot be written: \(error)")
    }
    return 0
}

/// One input of the fuzzer, used once.
struct JournalTrial {
    static let settings = #"{"a": 1, "kept": "x"}"#
    private static let directory: String = {
        let path = NSTemporaryDirectory() + "/journal-\(ProcessInfo.processInfo.processIdentifier)"
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            expect(false, "there is no place for files: \(error)")
        }
        return path
    }()
    private static let path = directory + "/settings.json"
    private static let journalPath = path + ".journal"

    private let input: JournalInput

    init(_ input: JournalInput) {
        self.input = input
    }

    func run() throws {
        // Made in the same directory, so before anything else is.
        let goodJournal = try Self.goodJournal.get()
        try Self.clear()
        let settings = input.isFileBroken ? String(Self.settings.dropLast()) : Self.settings
        try Self.write(Array(settings.utf8), to: Self.path)
        try Self.write(Array(Self.settings.utf8), to: Self.path + ".last-good")
        if input.isFileBroken {
            // Long enough ago that nobody takes it for a file that is being written.
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1e9)],
                ofItemAtPath: Self.path
            )
        }
        let reader = FileStore(path: FilePath(Self.path), checkpointsInBackground: false)
        if input.isOpenBefore {
            try Self.write(goodJournal, to: Self.journalPath)
            checkKept(reader.contents())
        }
        try Self.write(input.journal, to: Self.journalPath)

        let contents = reader.contents()
        checkKept(contents)
        let another = FileStore(path: FilePath(Self.path), checkpointsInBackground: false)
        // Who was there before may know more than the journal says.
        if !input.isOpenBefore { expect(another.contents() == contents, "two who read do not agree") }
        expect(try Self.read(Self.path) == Array(settings.utf8), "reading has changed the settings file")
        expect(try Self.read(Self.journalPath) == input.journal, "reading has changed the journal")

        let (writer, other) = input.isReaderSetting ? (reader, another) : (another, reader)
        let isSet = try set(by: writer, seenBy: other)
        expect(try Self.read(Self.path) == Array(settings.utf8), "a set has changed the settings file")
        // Without a journal that can be used, the two do not agree, and there is nothing to checkpoint.
        if isSet, input.isCheckpointed { try checkpoint(another, seenBy: reader) }
    }

    /// - Returns: Whether the journal was one that can be used.
    private func set(by writer: FileStore, seenBy reader: FileStore) throws -> Bool {
        let before = try Self.read(Self.journalPath)
        let new = StoredValue.integer(Int128(input.flags))
        do {
            try writer.commit { $0["new"] = new }
        } catch let error as SettingsError {
            let isKnown = [.malformedJournal, .newerFormat].contains(error.code)
            expect(isKnown, "a set fails with \(error)")
            expect(try Self.read(Self.journalPath) == before, "a set that fails has changed the journal")
            return false
        }
        expect(writer.contents()["new"] == new, "what was set is not read")
        // While there is no journal, a reader looks for one only now and then.
        let magic = before.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        let isUnfinished = JournalHeader.isUnfinished(magic, length: before.count)
        if before.count < JournalHeader.size || isUnfinished { reader.look() }
        expect(reader.contents()["new"] == new, "who was there before does not see what was set")
        // Who knows of changes that have vanished with another journal adds them with its next commit.
        try reader.commit { _ in }
        let contents = writer.contents()
        checkKept(contents)
        expect(contents["new"] == new && reader.contents() == contents, "two who are there do not agree after a set")
        let newcomer = FileStore(path: FilePath(Self.path), checkpointsInBackground: false)
        expect(newcomer.contents() == contents, "who comes later does not see what was set")
        expect(newcomer.problem?.code != .malformedJournal, "a set has not mended the journal")
        return true
    }

    private func checkpoint(_ store: FileStore, seenBy reader: FileStore) throws {
        let contents = store.contents()
        do {
            try store.checkpoint()
        } catch let error as SettingsError {
            let isKnown = [.malformedJournal, .newerFormat, .malformedFile].contains(error.code)
            expect(isKnown, "checkpointing fails with \(error)")
            return
        }
        expect(!input.isFileBroken, "a broken file was checkpointed into")
        let file = try JSONReader.readObject(Self.read(Self.path))
        expect(file == contents, "the file has not what was checkpointed into it")
        expect(store.contents() == contents && reader.contents() == contents, "checkpointing has changed the contents")
        let newcomer = FileStore(path: FilePath(Self.path), checkpointsInBackground: false)
        expect(newcomer.contents() == contents, "who comes after checkpointing sees something else")
    }

    /// No record is about this key, unless its letters stand in the journal.
    private func checkKept(_ contents: [String: StoredValue]) {
        expect(input.mentionsKept || contents["kept"] == "x", "a value of the settings file is lost")
    }
}

// MARK: - Files

extension JournalTrial {
    private static let goodJournal = Result { try journal(checkpoints: 1).dropFirst() }.map { Array($0) }

    /// A journal as the library writes it, as an input.
    static func journal(checkpoints: Int) throws -> [UInt8] {
        try clear()
        try write(Array(settings.utf8), to: path)
        let store = FileStore(path: FilePath(path), checkpointsInBackground: false)
        for number in 0...checkpoints {
            try store.commit { $0["a"] = .integer(Int128(number)) }
            try store.commit {
                $0["b"] = .array(["text", .null])
                $0["c"] = .dictionary(["number": .integer(Int128(number))])
            }
            try store.commit { $0["b"] = nil }
            if number < checkpoints { try store.checkpoint() }
        }
        return try [0] + read(journalPath)
    }

    private static func clear() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
            try FileManager.default.removeItem(atPath: directory + "/" + name)
        }
    }

    private static func read(_ path: String) throws -> [UInt8] {
        let file = try SystemCalls().open(FilePath(path), O_RDONLY)
        return try SystemCalls().contents(of: file)
    }

    /// Writes a file as `cp` does: over what is there.
    private static func write(_ bytes: [UInt8], to path: String) throws {
        let file = try SystemCalls().open(FilePath(path), O_WRONLY | O_CREAT | O_TRUNC)
        try SystemCalls().write(bytes, to: file)
    }
}

/// Takes the place of the system's: whoever waits here for others to end what they are writing waits in vain.
@_cdecl("usleep")
public func sleepNot(_ microseconds: UInt32) -> CInt { 0 }
