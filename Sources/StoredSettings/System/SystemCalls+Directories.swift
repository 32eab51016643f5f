// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// Directories, links, and what the process may do.

extension SystemCalls {
    /// Opens a directory, to reach the files in it whatever becomes of its path.
    ///
    /// - Returns: The directory; `nil` when there is none.
    package func openDirectory(_ path: FilePath) throws(SystemError) -> FileHandle? {
        do {
            return try openIfPresent(path, O_RDONLY | O_DIRECTORY)
        } catch  where error.number == EACCES {
            #if canImport(Darwin)
            throw error
            #else
            // One that may be entered and not read. `O_PATH` needs no permission, and is no constant of every C library.
            return try openIfPresent(path, 0o10_000_000 | O_DIRECTORY)
            #endif
        }
    }

    /// The names in a directory.
    package func names(in directory: FileHandle) throws(SystemError) -> [FilePath] {
        // A descriptor of its own, since reading moves its position, and closing the stream closes it.
        let descriptor = try call(.open, ".", in: directory) { openat($0, $1, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard let stream = fdopendir(descriptor) else {
            let number = errno
            _ = close(descriptor)
            throw SystemError(call: .open, path: directory.path, number: number)
        }
        defer { closedir(stream) }
        var names: [FilePath] = []
        while let entry = readdir(stream) {
            // The name is inside the entry, which is valid until the next call; it is copied here.
            guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { break }
            names.append(
                FilePath(cString: UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self))
            )
        }
        return names
    }

    /// Returns once the names in a directory survive a loss of power, where the file system supports that.
    ///
    /// - Parameters:
    ///   - path: The path of the directory, or "." for the one that is open.
    ///   - directory: The directory that a relative path begins in; `nil` for the current one.
    /// - Throws: ``SystemError``.
    package func synchronizeDirectory(_ path: FilePath, in directory: FileHandle? = nil) throws(SystemError) {
        do {
            try synchronize(open(path, in: directory, O_RDONLY | O_DIRECTORY))
        } catch  where error.number == EINVAL {
            // Some file systems synchronize files only.
            return
        }
    }

    /// Throws unless the process may write to a file or into a directory.
    package func checkWritable(_ path: FilePath, in directory: FileHandle? = nil) throws(SystemError) {
        _ = try call(.access, path, in: directory) { faccessat($0, $1, W_OK, 0) }
    }

    /// Creates a directory that only its owner can enter, and those it lies in, safe from a loss of power.
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
        do {
            _ = try call(.makeDirectory, path) { path.withCString { mkdir($0, 0o700) } }
        } catch  where error.number == EEXIST {
            return
        }
        do {
            try synchronizeDirectory(path.directory)
        } catch {
            // A directory that may be entered and not read cannot be synchronized by this user.
            guard error.number != EACCES else { return }
            // The next attempt has to create it again: one that finds it there would not synchronize its name.
            _ = path.withCString { rmdir($0) }
            throw error
        }
    }

    /// The path without links, `.` and `..`; `nil` where there is nothing.
    package func resolved(_ path: FilePath) throws(SystemError) -> FilePath? {
        var result: FilePath?
        do {
            _ = try call(.resolve, path) {
                guard let resolved = path.withCString({ realpath($0, nil) }) else { return -1 }
                // `realpath` returns memory that it has allocated, which is copied and freed here.
                defer { free(resolved) }
                result = FilePath(cString: resolved)
                return 0
            }
        } catch  where error.number == ENOENT {
            return nil
        }
        return result
    }

    /// What a symbolic link points to.
    package func target(ofLink path: FilePath) throws(SystemError) -> FilePath {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = try call(.readLink, path) {
            buffer.withUnsafeMutableBytes { buffer in
                // The call writes at most as many bytes as the array holds.
                guard let start = buffer.baseAddress else { return 0 }
                let characters = start.assumingMemoryBound(to: CChar.self)
                return path.withCString { CInt(clamping: readlink($0, characters, buffer.count)) }
            }
        }
        return FilePath(bytes: buffer.prefix(Int(count)))
    }
}

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
