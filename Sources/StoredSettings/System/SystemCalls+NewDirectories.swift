// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "Root does not leave a user's directory".

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// New directories.

extension SystemCalls {
    /// Creates a directory and its missing parents with mode 0700, so that they survive a loss of power.
    package func makeDirectories(_ path: FilePath) throws(SystemError) {
        do {
            try makeDirectory(path)
        } catch  where error.number == ENOENT {
            let parent = path.directory
            guard parent != "/", parent != path, parent != "." else { throw error }
            try makeDirectories(parent)
            try makeDirectory(path)
        }
    }

    private func makeDirectory(_ path: FilePath) throws(SystemError) {
        let path = path.withoutTrailingSlashes
        // Root follows the path once: a user can replace parts of it at any time. The root directory has no name.
        var parent: FileHandle?
        if Self.currentUser() == 0, path.namesFile {
            parent = try openDirectory(path.directory)
            guard parent != nil else { throw SystemError(call: .makeDirectory, path: path, number: ENOENT) }
        }
        if let parent, try isGivenAway(in: parent) { return try makeDirectory(path.name, ofOwnerOf: parent) }
        let place = parent == nil ? path : path.name
        do {
            try makeDirectory(place, in: parent)
        } catch  where error.number == EEXIST {
            return
        }
        do {
            try synchronizeParent(of: path, parent)
        } catch {
            // Remove the directory, so that the next attempt creates it again. An existing one would not be
            // synchronized.
            removeDirectory(place, in: parent)
            throw error
        }
    }

    private func synchronizeParent(of path: FilePath, _ parent: FileHandle?) throws(SystemError) {
        do {
            try synchronizeDirectory(parent == nil ? path.directory : ".", in: parent)
        } catch  where error.number == EACCES {
            // The process may enter the parent but not read it, so it cannot synchronize it.
        }
    }

    /// Whether the directories that root creates in another one belong to the owner of that: that user's programs have to be
    /// able to use them.
    private func isGivenAway(in parent: FileHandle) throws(SystemError) -> Bool {
        let status = try status(of: parent)
        return status.owner != 0 && status.permissions & FileMode.otherWrite == 0
    }

    /// How often other processes may remove the draft of a directory.
    private static let mostDrafts = 16

    /// Creates a directory that belongs to the owner of its parent before it has its name.
    private func makeDirectory(
        _ name: FilePath,
        ofOwnerOf parent: FileHandle,
        attempts: Int = Self.mostDrafts
    ) throws(SystemError) {
        guard try status(at: name, in: parent, followingLinks: false) == nil else { return }
        // A process that was killed may have left one. If another process is still using it, that one begins again.
        for draft in try names(in: parent) where DraftName.isDraft(draft, of: "directory") {
            removeDirectory(draft, in: parent)
        }
        var place = DraftName.random(for: "directory")
        try makeDirectory(place, in: parent)
        do {
            try give(place, toOwnerOf: parent)
            do {
                try renameExclusively(place, to: name, in: parent)
                place = name
            } catch  where [EINVAL, ENOSYS, ENOTSUP, EPERM].contains(error.number) {
                // The file system, the C library or a sandbox does not support this.
                removeDirectory(place, in: parent)
                try makeDirectory(name, in: parent)
                place = name
                try give(place, toOwnerOf: parent)
            }
            try synchronizeParent(of: name, parent)
        } catch {
            // Also after the rename, so that the next attempt creates it again. An existing one would not be synchronized.
            removeDirectory(place, in: parent)
            // Another process has created it.
            guard error.number != EEXIST else { return }
            // Another process has removed the draft.
            guard error.number == ENOENT, attempts > 1 else { throw error }
            try makeDirectory(name, ofOwnerOf: parent, attempts: attempts - 1)
        }
    }

    /// Creates a directory with mode 0700, whatever the mask of the process is.
    func makeDirectory(_ name: FilePath, in parent: FileHandle?) throws(SystemError) {
        _ = try call(.makeDirectory, name, in: parent) { mkdirat($0, $1, 0o700) }
        do {
            guard let new = try status(at: name, in: parent, followingLinks: false), new.isDirectory,
                new.permissions & FileMode.owner != FileMode.owner
            else { return }
            let mode = new.permissions | FileMode.owner
            _ = try call(.changeMode, name, in: parent) { fchmodat($0, $1, mode, AT_SYMLINK_NOFOLLOW) }
        } catch {
            removeDirectory(name, in: parent)
            throw error
        }
    }

    /// Removes a directory if it is empty.
    private func removeDirectory(_ name: FilePath, in parent: FileHandle?) {
        _ = name.withCString { unlinkat(parent?.descriptor ?? AT_FDCWD, $0, AT_REMOVEDIR) }
    }

    /// Gives a directory that root has created to the owner of its parent.
    ///
    /// The user may have put another directory in its place. Only an empty one of root is given away.
    private func give(_ name: FilePath, toOwnerOf parent: FileHandle) throws(SystemError) {
        let status = try status(of: parent)
        let directory = try open(name, in: parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        guard try self.status(of: directory).owner == 0, try names(in: directory).isEmpty else { return }
        _ = try mayGive(directory, to: status.owner, status.group)
    }
}
