// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// A value that was removed or replaced must not be found in the journal after the next checkpoint.

extension Journal {
    /// How many bytes to write at once.
    private static let clearedLength = 1 << 16

    /// Overwrites space that holds no record in use.
    ///
    /// The header on the disk must not need that space either.
    ///
    /// - Parameters:
    ///   - start: Where the space begins.
    ///   - end: Where it ends; the file does not become longer.
    /// - Throws: ``SystemError`` when some of it may be left.
    func clear(from start: UInt32, to end: UInt32) throws(SystemError) {
        let end = try min(Int(end), system.status(of: file).size)
        var offset = Int(start)
        while offset < end {
            let length = min(end - offset, Self.clearedLength)
            try system.write([UInt8](repeating: 0, count: length), to: file, at: offset)
            offset += length
        }
    }

    /// Clears what is behind the last record, all of which the disk's header is done with.
    ///
    /// A little space stays allocated, so that the next records are written without changing the file's length.
    func clear(behind end: UInt32) throws(SystemError) {
        let size = try system.status(of: file).size
        if size - Int(end) > Self.keptSize {
            try system.truncate(file, to: Int(end))
        } else {
            // Reading is cheaper than writing, and mostly there is nothing to clear. A record that was written in part, by a
            // process that failed or was killed, is behind the end too.
            let rest = try system.contents(of: file, in: Int(end)..<max(size, Int(end)))
            if rest.contains(where: { $0 != 0 }) { try clear(from: end, to: UInt32(clamping: size)) }
        }
    }

    /// Takes away the permissions that the settings file does not give.
    ///
    /// More permissions are given only to an empty journal: the values in another one were set when fewer users could
    /// read them.
    ///
    /// - Parameter model: The settings file.
    /// - Throws: ``SystemError`` when they cannot be taken away by a user who may do so.
    func narrowPermissions(to model: FileStatus) throws(SystemError) {
        try system.narrowPermissions(of: file, to: model)
    }
}
