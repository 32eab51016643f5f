// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// Where there is no inotify, watching fails with `ENOSYS`, and who wants to know of changes has to look.

extension SystemCalls {
    /// Opens a queue that tells of events in directories.
    func makeWatchQueue() throws(SystemError) -> FileHandle {
        #if canImport(Darwin)
        throw SystemError(call: .watch, path: "inotify", number: ENOSYS)
        #else
        let descriptor = try call(.watch, "inotify") { inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC)) }
        return FileHandle(descriptor: descriptor, path: "inotify")
        #endif
    }

    /// Has a queue tell of events in a directory, or of a file.
    ///
    /// - Returns: The number by which the queue calls it.
    func addWatch(_ path: FilePath, to queue: FileHandle) throws(SystemError) -> CInt {
        #if canImport(Darwin)
        throw SystemError(call: .watch, path: path, number: ENOSYS)
        #else
        let events =
            IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO
            | IN_DELETE_SELF | IN_MOVE_SELF
        let mask = UInt32(truncatingIfNeeded: events)
        return try call(.watch, path) { path.withCString { inotify_add_watch(queue.descriptor, $0, mask) } }
        #endif
    }

    /// Ends the events of a directory.
    ///
    /// That fails only where they have ended by themselves, with the directory.
    func removeWatch(_ number: CInt, from queue: FileHandle) {
        #if !canImport(Darwin)
        _ = inotify_rm_watch(queue.descriptor, number)
        #endif
    }

    /// What has happened in directories, by their numbers.
    struct WatchEvents {
        /// Those in which anything has happened.
        var directories: Set<CInt> = []
        /// Those in which something else has happened than that a file with a certain ending was written to.
        var changed: Set<CInt> = []
    }

    /// What has happened in directories since the last time.
    ///
    /// - Parameters:
    ///   - queue: Where the system tells of it.
    ///   - ending: The ending of files that are written to all the time.
    /// - Returns: The directories.
    func readWatchEvents(from queue: FileHandle, ignoring ending: String) -> WatchEvents {
        var events = WatchEvents()
        #if !canImport(Darwin)
        let ending = Array(ending.utf8)
        withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
            while true {
                let count = read(queue.descriptor, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                // The system writes whole events only: a header, and a name as long as the header says.
                var offset = 0
                while offset + MemoryLayout<inotify_event>.size <= count {
                    let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                    let start = offset + MemoryLayout<inotify_event>.size
                    offset = start + Int(event.len)
                    events.directories.insert(event.wd)
                    let isWritten = event.mask & ~UInt32(truncatingIfNeeded: IN_MODIFY) == 0
                    let name = buffer[start..<min(offset, count)].prefix { $0 != 0 }
                    if !isWritten || !name.suffix(ending.count).elementsEqual(ending) {
                        events.changed.insert(event.wd)
                    }
                }
            }
        }
        #endif
        return events
    }
}
