// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A time stamp of a file.
package struct FileTime: Hashable, Sendable {
    /// The seconds since 1970.
    package var seconds: Int
    package var nanoseconds: Int

    package var secondsSince1970: Double { Double(seconds) + Double(nanoseconds) / 1e9 }

    /// Creates a time from a `timespec`, which consists of two words on every 64-bit system.
    ///
    /// The words are read by their offset, within the bytes of the struct. On Linux, the module that declares the names
    /// of the members differs between builds, so the names are not always visible.
    init(_ time: timespec) {
        (seconds, nanoseconds) = withUnsafeBytes(of: time) { bytes in
            let word = MemoryLayout<Int>.size
            return (bytes.loadUnaligned(as: Int.self), bytes.loadUnaligned(fromByteOffset: word, as: Int.self))
        }
    }
}

/// Identifies a file among those that exist.
package struct FileIdentity: Hashable, Sendable {
    var device: UInt64
    var inode: UInt64
}

/// The metadata that identifies a file and its state.
package struct FileStatus: Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64
    package var size: Int
    /// The time of the last change of the contents.
    package var modified: FileTime
    /// The time of the last change of the contents or the metadata.
    package var changed: FileTime
    package var mode: FileMode
    package var owner: UserID
    package var group: GroupID
    /// The number of hard links to the file.
    package var linkCount: Int

    package var isRegular: Bool { mode & S_IFMT == S_IFREG }
    package var isDirectory: Bool { mode & S_IFMT == S_IFDIR }
    package var isLink: Bool { mode & S_IFMT == S_IFLNK }
    /// Whether the file is empty, or a character device: systemd does not distinguish `/dev/null` either.
    var isNullOrEmpty: Bool { isRegular ? size == 0 : mode & S_IFMT == S_IFCHR }
    package var permissions: FileMode { mode & 0o7777 }

    init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
        size = Int(status.st_size)
        #if canImport(Darwin)
        modified = FileTime(status.st_mtimespec)
        changed = FileTime(status.st_ctimespec)
        #else
        modified = FileTime(status.st_mtim)
        changed = FileTime(status.st_ctim)
        #endif
        mode = status.st_mode
        owner = status.st_uid
        group = status.st_gid
        linkCount = Int(status.st_nlink)
    }
}

extension FileStatus {
    package var identity: FileIdentity { FileIdentity(device: device, inode: inode) }

    /// Returns whether both describe the same file, even in different states.
    package func isSameFile(as other: FileStatus?) -> Bool {
        identity == other?.identity
    }
}
