// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Where the path of a settings file leads.
enum SettingsPath {
    /// How many links are followed before the path counts as a circle, as on Linux.
    private static let mostLinks = 40

    /// The file that a path leads to when its last component is a link, whether or not the file exists.
    ///
    /// - Throws: ``SystemError``, or ``SettingsError`` when a link is not to be followed.
    static func target(of path: FilePath, _ system: SystemCalls) throws -> FilePath {
        var path = path
        for _ in 0..<mostLinks {
            guard let status = try system.status(at: path, followingLinks: false), status.isLink else { return path }
            let target = path.directory.appending(try system.target(ofLink: path))
            try checkTrust(in: status, at: path, leadingTo: target, system)
            path = target
        }
        throw SystemError(call: .open, path: path, number: ELOOP)
    }

    /// Throws unless a link may be followed.
    ///
    /// A user must not be able to direct the writes of another, above all of root, to a file or directory that is not
    /// theirs. So the link belongs to this process's user or to root, or to the owner of what it leads to.
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

    /// One spelling for all paths that lead to one file, whether or not it exists.
    static func identity(of path: FilePath, _ system: SystemCalls) -> FilePath {
        do {
            let target = try target(of: path, system)
            if let resolved = try system.resolved(target) { return resolved }
            let directory = target.directory
            guard directory != target else { return target }
            return (directory == "/" || directory == "." ? directory : identity(of: directory, system))
                .appending(target.name)
        } catch {
            // A path that cannot be followed is identified by its spelling. Using it throws the reason.
            return path
        }
    }
}
