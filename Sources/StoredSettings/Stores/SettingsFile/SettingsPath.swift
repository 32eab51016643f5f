// SPDX-License-Identifier: Apache-2.0

/// Follows the links of a settings file's path.
package enum SettingsPath {
    /// The number of links after which a path counts as circular, as on Linux.
    private static let mostLinks = 40

    /// Returns the file that a path leads to when its last component is a link, whether or not the file exists.
    ///
    /// - Throws: ``SystemError``, or ``SettingsError`` if a link must not be followed.
    package static func target(of path: FilePath, _ system: SystemCalls) throws -> FilePath {
        var path = path
        for _ in 0..<mostLinks {
            guard let status = try system.status(at: path, followingLinks: false), status.isLink else { return path }
            let target = path.directory.appending(try system.target(ofLink: path))
            try checkTrust(in: status, at: path, leadingTo: target, system)
            path = target
        }
        throw SystemError(call: .open, path: path, number: Errno.tooManySymbolicLinkLevels)
    }

    /// Opens the file that a path leads to.
    ///
    /// Several calls follow the path. When a link of it is replaced and its old target removed in between, they find nothing,
    /// although the path leads to a file all the time.
    ///
    /// - Returns: The file, which need not be a regular one; `nil` if there is none.
    /// - Throws: ``SystemError``, with `EINVAL` for what has no path, or ``SettingsError`` if a link must not be followed.
    static func open(
        _ path: FilePath,
        _ system: SystemCalls,
        _ openTarget: (_ target: FilePath, _ flags: CInt) throws -> FileHandle?
    ) throws -> FileHandle? {
        // A FIFO at the path must not block this process until there is a writer. A link that has just replaced the
        // file is not followed without a check.
        let flags = OpenFlags.readOnly | OpenFlags.nonBlocking | OpenFlags.noFollow
        for _ in 0..<mostLinks {
            if let handle = try openTarget(target(of: path, system), flags) { return handle }
            guard let status = try system.status(at: path) else { return nil }
            // The links in /dev/fd lead to pipes, sockets and removed files, too.
            guard status.isRegular, status.linkCount > 0 else {
                throw SystemError(call: .open, path: path, number: Errno.invalidArgument)
            }
        }
        throw SystemError(call: .open, path: path, number: Errno.noSuchFileOrDirectory)
    }

    /// Throws unless a link may be followed.
    ///
    /// A user must not be able to redirect another user's writes, and those of root in particular, to a file or
    /// directory that the first user does not own. So the link has to belong to the user of this process, to root, or
    /// to the owner of its target.
    private static func checkTrust(
        in link: FileStatus,
        at path: FilePath,
        leadingTo target: FilePath,
        _ system: SystemCalls
    ) throws {
        guard link.owner != 0, link.owner != SystemCalls.currentUser() else { return }
        let owner = try system.status(at: target)?.owner ?? system.status(at: target.directory)?.owner
        guard owner == link.owner else { throw SettingsError.untrustedLink(path, owner: link.owner) }
    }

    /// Returns the same path for all paths that lead to one file, whether or not the file exists.
    static func identity(of path: FilePath, _ system: SystemCalls) -> FilePath {
        do {
            let target = try target(of: path, system)
            if let resolved = try system.resolved(target) { return resolved }
            let directory = target.directory
            guard directory != target else { return target }
            return (directory == "/" || directory == "." ? directory : identity(of: directory, system))
                .appending(target.name)
        } catch {
            // A path that cannot be followed is identified by its spelling. Using it throws the error.
            return path
        }
    }
}
