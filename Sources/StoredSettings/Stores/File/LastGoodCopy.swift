// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The copy of the settings file that is used when the file cannot be read: `settings.json.last-good`.
///
/// A checkpoint replaces it together with the file. An outdated copy must not remain: it contains values that were removed,
/// and a new process would use them if the file were missing.
struct LastGoodCopy {
    let directory: SettingsDirectory
    /// The inode of the copy that this library wrote last, from the journal's header; 0 when it is unknown.
    var knownInode: UInt64

    private var system: SystemCalls { directory.system }
    private var name: FilePath { directory.name.adding(SettingsFile.lastGoodSuffix) }

    var path: FilePath { directory.handle.path.appending(name) }

    /// A new copy that has not replaced the old one yet.
    struct Draft {
        let file: FileHandle
        let name: FilePath
    }

    /// Writes a new copy beside the old one.
    ///
    /// - Parameters:
    ///   - bytes: The contents of the settings file.
    ///   - model: The settings file, whose owner and permissions the copy receives.
    ///   - isSynchronized: Whether to wait for the disk.
    /// - Returns: The draft.
    /// - Throws: ``SystemError``, or ``SettingsError`` when the file in the copy's place is not a copy.
    func draft(_ bytes: [UInt8], like model: FileStatus, isSynchronized: Bool = false) throws -> Draft {
        guard try isOwn else { throw SettingsError.foreignSibling(path) }
        let (file, name) = try directory.writeDraft(bytes, like: model, isSynchronized: isSynchronized)
        return Draft(file: file, name: name)
    }

    /// Replaces the copy by a draft.
    mutating func place(_ draft: Draft) throws {
        guard try directory.holds(draft.file, as: draft.name) else {
            throw SystemError(call: .rename, path: draft.file.path, number: ENOENT)
        }
        try system.rename(draft.name, to: name, in: directory.handle)
        knownInode = try system.status(of: draft.file).inode
    }

    /// Removes the copy, if there is one.
    ///
    /// - Throws: ``SystemError``, or ``SettingsError`` when the file in the copy's place is not a copy.
    mutating func remove() throws {
        guard try isOwn else { throw SettingsError.foreignSibling(path) }
        do {
            try system.unlink(name, in: directory.handle)
        } catch  where error.number == ENOENT {
            // There is no copy.
        }
        knownInode = 0
    }

    /// Removes permissions that the settings file does not have from the copy.
    func narrowPermissions(to model: FileStatus) throws {
        guard let copy = try directory.openSibling(name, O_RDONLY) else { return }
        try system.narrowPermissions(of: copy, to: model)
    }

    /// Whether the name is free, or the file is a copy that this library has written.
    ///
    /// Such a copy is JSON in the form that the library writes, or the remains of one after a power loss.
    private var isOwn: Bool {
        get throws {
            if knownInode != 0, let status = try system.status(at: name, in: directory.handle, followingLinks: false),
                status.isRegular, status.inode == knownInode
            {
                // The copy is replaced and never modified, so additional hard links do no harm.
                return true
            }
            guard let file = try directory.openSibling(name, O_RDONLY) else { return true }
            let bytes = try system.contents(of: file, limit: SettingsFile.longestFile)
            guard bytes.contains(where: { $0 != 0 }) else { return true }
            do {
                return try JSONWriter.text(of: JSONReader.readObject(bytes)) == bytes
            } catch {
                return false
            }
        }
    }
}

// MARK: - The journal's header

extension LastGoodCopy {
    /// Whether a checkpoint has to write the copy again.
    enum Condition: UInt64 {
        case current = 0
        /// There is no copy, because it could not be written.
        case missing = 1
        /// The copy has values that were replaced or removed since.
        case outdated = 2
    }

    /// The condition of the copy according to a header.
    static func condition(in page: SharedPage) -> Condition {
        Condition(rawValue: page[JournalHeader.lastGoodConditionWord]) ?? .current
    }

    /// Writes the copy's inode and condition into the header of a journal.
    ///
    /// The caller holds the journal's lock.
    func store(_ condition: Condition, in page: SharedPage) {
        page[JournalHeader.lastGoodWord] = knownInode
        page[JournalHeader.lastGoodConditionWord] = condition.rawValue
    }
}
