// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// A value that was removed or replaced must not remain in the journal after the next checkpoint.

extension Journal {
    /// The number of bytes to write at once.
    private static let clearedLength = 1 << 16

    /// Overwrites space that contains no record in use.
    ///
    /// The header on the disk must not refer to this space either.
    ///
    /// - Parameters:
    ///   - start: The start of the space.
    ///   - end: The end of the space. The file does not become longer.
    /// - Throws: ``SystemError`` if part of the space may not be overwritten.
    func clear(from start: UInt32, to end: UInt32) throws(SystemError) {
        let end = try min(Int(end), system.status(of: file).size)
        var offset = Int(start)
        while offset < end {
            let length = min(end - offset, Self.clearedLength)
            try system.write([UInt8](repeating: 0, count: length), to: file, at: offset)
            offset += length
        }
    }

    /// Clears the space after the last record.
    ///
    /// The header on the disk must not refer to that space.
    ///
    /// A small amount of space remains allocated, so that the next records do not change the length of the file.
    func clear(behind end: UInt32) throws(SystemError) {
        let size = try system.status(of: file).size
        if size - Int(end) > Self.keptSize {
            try system.truncate(file, to: Int(end))
        } else {
            // Reading is cheaper than writing, and usually the space is clear. The partial record of a process that
            // failed or was killed is after the end, too.
            let rest = try system.contents(of: file, in: Int(end)..<max(size, Int(end)))
            if rest.contains(where: { $0 != 0 }) { try clear(from: end, to: UInt32(clamping: size)) }
        }
    }

    /// Removes permissions that the settings file does not have from the journal.
    ///
    /// Only an empty journal receives further permissions: the values in any other were set when fewer users could read
    /// them.
    ///
    /// - Parameter model: The settings file.
    /// - Throws: ``SystemError`` if the removal fails although this user may change the permissions.
    func narrowPermissions(to model: FileStatus) throws(SystemError) {
        try system.narrowPermissions(of: file, to: model)
    }
}
