// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// Without inotify, watching fails with `ENOSYS`, and the file is polled instead.

extension SystemCalls {
    /// Opens a queue for events in directories.
    func makeWatchQueue() throws(SystemError) -> FileHandle {
        #if canImport(Darwin)
        throw SystemError(call: .watch, path: "inotify", number: ENOSYS)
        #else
        let descriptor = try call(.watch, "inotify") {
            Self.newDescriptor { inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC)) }
        }
        return FileHandle(descriptor: descriptor, path: "inotify", isQueue: true)
        #endif
    }

    /// Adds a watch for a directory or a file to a queue.
    ///
    /// - Parameters:
    ///   - path: The path of the directory or file.
    ///   - withoutWrites: Whether to report no writes to files, unless there is a watch that does.
    ///   - queue: The queue.
    /// - Returns: The number of the watch in the queue.
    /// - Throws: ``SystemError``.
    func addWatch(_ path: FilePath, withoutWrites: Bool = false, to queue: FileHandle) throws(SystemError) -> CInt {
        #if canImport(Darwin)
        throw SystemError(call: .watch, path: path, number: ENOSYS)
        #else
        let names: Int32 =
            IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF
        // The watches of a directory are one for the system, and must not lose the writes that another one needs.
        let events: Int32 =
            withoutWrites ? names | Int32(truncatingIfNeeded: IN_MASK_ADD) : names | IN_MODIFY | IN_CLOSE_WRITE
        let mask = UInt32(truncatingIfNeeded: events)
        return try call(.watch, path) { path.withCString { inotify_add_watch(queue.descriptor, $0, mask) } }
        #endif
    }

    /// Removes a watch.
    ///
    /// The call fails only if the watch has already ended because the directory was removed.
    func removeWatch(_ number: CInt, from queue: FileHandle) {
        #if !canImport(Darwin)
        _ = inotify_rm_watch(queue.descriptor, number)
        #endif
    }

    /// Waits until a queue has events.
    ///
    /// - Returns: Whether the queue can still be used. Otherwise, the program has closed it.
    func waitForEvents(_ queue: FileHandle) -> Bool {
        #if !canImport(Darwin)
        let descriptor = queue.descriptor
        // The system ignores a negative descriptor, and would wait forever.
        guard descriptor >= 0 else { return false }
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // The call fails only when it is interrupted. The caller then finds no events, and waits again.
        _ = poll(&request, 1, -1)
        #endif
        return queue.isOpen
    }

    /// An event in a directory or of a file.
    struct WatchEvent {
        /// The number of the watch; -1 when events were lost.
        var number: CInt
        /// Whether the event is only a write to a file.
        var isWrite: Bool
        /// The bytes of the name in the directory; empty for an event of the watched directory or file itself.
        var name: Slice<UnsafeRawBufferPointer>
    }

    /// Reads available events of a queue, without waiting: all of them, or as many as fit in one buffer.
    ///
    /// It reads only once, because another process may cause events faster than they can be handled.
    ///
    /// - Parameters:
    ///   - queue: The queue.
    ///   - body: A closure that is called for each event. The name is valid only during the call.
    func readWatchEvents(from queue: FileHandle, _ body: (WatchEvent) -> Void) {
        #if !canImport(Darwin)
        let writes = UInt32(truncatingIfNeeded: IN_MODIFY | IN_CLOSE_WRITE)
        withUnsafeTemporaryAllocation(byteCount: 8_192, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
            let count = read(queue.descriptor, buffer.baseAddress, buffer.count)
            // The system writes only complete events: a header, and a name of the length in the header.
            var offset = 0
            while offset + MemoryLayout<inotify_event>.size <= count {
                let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                let start = offset + MemoryLayout<inotify_event>.size
                offset = start + Int(event.len)
                let name = UnsafeRawBufferPointer(buffer)[start..<min(offset, count)].prefix { $0 != 0 }
                body(WatchEvent(number: event.wd, isWrite: event.mask & ~writes == 0, name: name))
            }
        }
        #endif
    }
}
