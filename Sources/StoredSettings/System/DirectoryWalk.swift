// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "Root does not leave a user's directory".

#if os(Linux)
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Finds a directory component by component, so that root notices each symbolic link in its path.
///
/// A user must not be able to redirect the files that root creates and changes to the directory of another user. So a link
/// has to belong to root, or to the owner of the directory that it leads to. Each component is opened before it is looked at:
/// a user that replaces it meanwhile changes nothing.
struct DirectoryWalk {
    /// The number of links after which a path counts as circular, as on Linux.
    private static let mostLinks = 40

    private let system: SystemCalls
    private var links = 0

    init(_ system: SystemCalls) {
        self.system = system
    }

    /// Opens a directory.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - base: The directory that a relative path begins in; `nil` for the current one.
    /// - Returns: The directory, whose contents cannot be read through this handle.
    /// - Throws: ``SystemError``, with `ELOOP` for a link that is not followed.
    mutating func directory(at path: FilePath, in base: FileHandle?) throws(SystemError) -> FileHandle {
        var place = try open(path.isAbsolute ? "/" : ".", in: path.isAbsolute ? nil : base)
        for component in path.components {
            let next = try open(component, in: place)
            let status = try system.status(of: next)
            place = status.isLink ? try follow(next, status, in: place) : next
        }
        return place
    }

    private mutating func follow(
        _ link: FileHandle,
        _ status: FileStatus,
        in directory: FileHandle
    ) throws(SystemError) -> FileHandle {
        links += 1
        guard links <= Self.mostLinks else { throw untrusted(link) }
        let target = try self.directory(at: system.target(ofOpenLink: link), in: directory)
        // A user can have given a link of root another name, in a directory of that user.
        let isTrusted =
            if status.owner == 0 { status.linkCount == 1 } else { try system.status(of: target).owner == status.owner }
        guard isTrusted else { throw untrusted(link) }
        return target
    }

    private func untrusted(_ link: FileHandle) -> SystemError {
        SystemError(call: .readLink, path: link.path, number: ELOOP)
    }

    private func open(_ path: FilePath, in directory: FileHandle?) throws(SystemError) -> FileHandle {
        try system.open(path, in: directory, SystemCalls.pathOnly | O_NOFOLLOW)
    }
}
#endif
