// SPDX-License-Identifier: Apache-2.0

// Compiled by `.ci/fuzz journal` together with the library, as one module.

import Foundation

/// Uses a store whose journal is the fuzzer's input.
///
/// Each read, set and checkpoint is checked: all stores agree, and no value is lost.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJournal(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // The fuzzer owns the bytes, which are valid until this function returns.
    let input = JournalInput(UnsafeBufferPointer(start: start, count: count))
    do {
        try JournalTrial(input).run()
    } catch {
        expect(false, "a test file cannot be used: \(error)")
    }
    return 0
}

/// Valid journals, as initial inputs.
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
        expect(false, "cannot write a journal: \(error)")
    }
    return 0
}

/// One input of the fuzzer.
struct JournalTrial {
    static let settings = #"{"a": 1, "kept": "x"}"#
    private static let directory: String = {
        let path = NSTemporaryDirectory() + "/journal-\(ProcessInfo.processInfo.processIdentifier)"
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            expect(false, "cannot create a directory: \(error)")
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
        // Created first, because it uses the same directory.
        let goodJournal = try Self.goodJournal.get()
        try Self.clear()
        let settings = input.isFileBroken ? String(Self.settings.dropLast()) : Self.settings
        try Self.write(Array(settings.utf8), to: Self.path)
        try Self.write(Array(Self.settings.utf8), to: Self.path + ".last-good")
        if input.isFileBroken {
            // An old file, so that it is not considered a write in progress.
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
        // A store that was open before may know more than the journal contains.
        if !input.isOpenBefore { expect(another.contents() == contents, "two readers disagree") }
        expect(try Self.read(Self.path) == Array(settings.utf8), "reading has changed the settings file")
        expect(try Self.read(Self.journalPath) == input.journal, "reading has changed the journal")

        let (writer, other) = input.isReaderSetting ? (reader, another) : (another, reader)
        let isSet = try set(by: writer, seenBy: other)
        expect(try Self.read(Self.path) == Array(settings.utf8), "a set has changed the settings file")
        // Without a usable journal, the stores disagree, and there is nothing to checkpoint.
        if isSet, input.isCheckpointed { try checkpoint(another, seenBy: reader) }
    }

    /// - Returns: Whether the journal was usable.
    private func set(by writer: FileStore, seenBy reader: FileStore) throws -> Bool {
        let before = try Self.read(Self.journalPath)
        let hasJournal = try Self.hasJournal()
        let new = StoredValue.integer(Int128(input.flags))
        do {
            try writer.commit { $0["new"] = new }
        } catch let error as SettingsError {
            let isKnown = [.malformedJournal, .newerFormat].contains(error.code)
            expect(isKnown, "a set fails with \(error)")
            expect(try Self.read(Self.journalPath) == before, "a failed set has changed the journal")
            return false
        }
        expect(writer.contents()["new"] == new, "the writer does not read its set")
        // Without a journal, a reader only checks for one from time to time.
        if !hasJournal { reader.look() }
        expect(reader.contents()["new"] == new, "a store that was open does not read the set")
        // A store whose known changes vanished with the old journal adds them with its next commit.
        try reader.commit { _ in }
        let contents = writer.contents()
        checkKept(contents)
        expect(contents["new"] == new && reader.contents() == contents, "two open stores disagree after a set")
        let newcomer = FileStore(path: FilePath(Self.path), checkpointsInBackground: false)
        expect(newcomer.contents() == contents, "a new store does not read the set")
        expect(newcomer.problem?.code != .malformedJournal, "a set has not repaired the journal")
        return true
    }

    /// Whether the file is a journal, and not one that was never finished, or was truncated to less than its header.
    private static func hasJournal() throws -> Bool {
        do {
            return try Journal.open(at: FilePath(journalPath), SystemCalls()) != nil
        } catch is SettingsError {
            return false
        }
    }

    private func checkpoint(_ store: FileStore, seenBy reader: FileStore) throws {
        let contents = store.contents()
        do {
            try store.checkpoint()
        } catch let error as SettingsError {
            let isKnown = [.malformedJournal, .newerFormat, .malformedFile].contains(error.code)
            expect(isKnown, "a checkpoint fails with \(error)")
            return
        }
        expect(!input.isFileBroken, "a checkpoint has overwritten a broken file")
        let file = try JSONReader.readObject(Self.read(Self.path))
        expect(file == contents, "the file differs from the contents after a checkpoint")
        expect(store.contents() == contents && reader.contents() == contents, "a checkpoint has changed the contents")
        let newcomer = FileStore(path: FilePath(Self.path), checkpointsInBackground: false)
        expect(newcomer.contents() == contents, "a new store disagrees after a checkpoint")
    }

    /// Checks a key without records, unless its letters occur in the journal.
    private func checkKept(_ contents: [String: StoredValue]) {
        expect(input.mentionsKept || contents["kept"] == "x", "a value of the settings file is lost")
    }
}

// MARK: - Files

extension JournalTrial {
    private static let goodJournal = Result { try journal(checkpoints: 1).dropFirst() }.map { Array($0) }

    /// A journal that the library has written.
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

    /// Overwrites a file in place, as `cp` does.
    private static func write(_ bytes: [UInt8], to path: String) throws {
        let file = try SystemCalls().open(FilePath(path), O_WRONLY | O_CREAT | O_TRUNC)
        try SystemCalls().write(bytes, to: file)
    }
}

/// Replaces the C library's function, so that the store waits for other processes for a twentieth of the time.
///
/// The store decides how long it waits. Without any wait, a checkpoint would give up before the file's times are certain,
/// which takes 20 ms.
@_cdecl("usleep")
public func sleepBriefly(_ microseconds: UInt32) -> CInt {
    Thread.sleep(forTimeInterval: Double(microseconds) / 20e6)
    return 0
}
