// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// What kind of file system a file is on.

extension SystemCalls {
    /// Whether a file may be on an overlay file system, where it may lie in a lower layer.
    ///
    /// The first process that opens such a file for writing receives a copy of it in the upper layer. A file that is open
    /// for reading then reads the copy, but memory that was mapped before still shows the original.
    ///
    /// - Parameter file: The file.
    /// - Returns: Also `true` when the list of mounts cannot be read.
    func isOnOverlay(_ file: FileHandle) -> Bool {
        #if os(Linux)
        do {
            // Files of a lower layer can have another device number than the file system. Directories have its own.
            guard let device = try status(at: file.path.directory)?.device else { return true }
            let mounts = try contents(of: open("/proc/self/mountinfo", O_RDONLY))
            return Self.isOverlay(device, in: mounts)
        } catch {
            return true
        }
        #else
        return false
        #endif
    }

    /// Whether a list of mounts has an overlay file system with a device number.
    ///
    /// - Parameters:
    ///   - device: The device number, as `stat` returns it.
    ///   - mounts: The contents of `/proc/self/mountinfo`, as proc(5) describes them: the third field of a line is the
    ///     device, and the type of the file system follows a hyphen.
    static func isOverlay(_ device: UInt64, in mounts: [UInt8]) -> Bool {
        // The bits of a device number in Linux's `dev_t`, as makedev(3) puts them together.
        let major = (device >> 8 & 0xFFF) | (device >> 32 & ~0xFFF)
        let minor = (device & 0xFF) | (device >> 12 & ~0xFF)
        let number = Array("\(major):\(minor)".utf8)
        return mounts.split(separator: UInt8(ascii: "\n"))
            .contains { line in
                let fields = line.split(separator: UInt8(ascii: " "))
                guard fields.count > 2, fields[2].elementsEqual(number),
                    let hyphen = fields.firstIndex(where: { $0.elementsEqual([UInt8(ascii: "-")]) }),
                    fields.indices.contains(hyphen + 1)
                else { return false }
                return fields[hyphen + 1].elementsEqual("overlay".utf8)
            }
    }
}
