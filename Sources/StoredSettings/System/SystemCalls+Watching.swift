// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// Where there is no inotify, watching fails with `ENOSYS`, and the file is looked at every so often instead.

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

    /// Waits until a queue has events.
    func waitForEvents(_ queue: FileHandle) {
        #if !canImport(Darwin)
        var request = pollfd(fd: queue.descriptor, events: Int16(POLLIN), revents: 0)
        // Nothing but an interruption makes this fail; the caller finds no events then, and waits again.
        _ = poll(&request, 1, -1)
        #endif
    }

    /// What has happened in a directory, or to a file.
    struct WatchEvent {
        /// The number of the directory or file; -1 when events were lost.
        var number: CInt
        /// Whether bytes were written to a file, and nothing else has happened.
        var isWrite: Bool
        /// The bytes of the name in the directory; empty for what has happened to the watched object itself.
        var name: Slice<UnsafeRawBufferPointer>
    }

    /// Reads the events that a queue has, without waiting.
    ///
    /// - Parameters:
    ///   - queue: The queue.
    ///   - body: Called with each event. The name is valid during the call.
    func readWatchEvents(from queue: FileHandle, _ body: (WatchEvent) -> Void) {
        #if !canImport(Darwin)
        let writes = UInt32(truncatingIfNeeded: IN_MODIFY | IN_CLOSE_WRITE)
        withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
            while true {
                let count = read(queue.descriptor, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                // The system writes whole events only: a header, and a name as long as the header says.
                var offset = 0
                while offset + MemoryLayout<inotify_event>.size <= count {
                    let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                    let start = offset + MemoryLayout<inotify_event>.size
                    offset = start + Int(event.len)
                    let name = UnsafeRawBufferPointer(buffer)[start..<min(offset, count)].prefix { $0 != 0 }
                    body(WatchEvent(number: event.wd, isWrite: event.mask & ~writes == 0, name: name))
                }
            }
        }
        #endif
    }
}
