// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Journal-and-locks.md, "Processes share one page of memory".

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Prevents a crash when another process truncates a file that this process has mapped.
///
/// The system raises `SIGBUS` for a read beyond the end of the file, which ends the process by default. The handler
/// installed here replaces the lost page by a page of zeros, and the read continues. Signals for other addresses are
/// forwarded to the previous handler.
enum BusErrors {
    /// A watched mapping, or an entry for the next one, whose start is 0.
    ///
    /// Entries are reused, never freed and never moved, so that the handler needs neither a lock nor an allocation.
    private struct Entry: ~Copyable {
        let start = Atomic<UInt>(0)
        let length = Atomic<UInt>(0)
        /// The entry that was created before.
        let next: UnsafeMutablePointer<Entry>?
    }

    /// The entry that was created last.
    ///
    /// It and the entries are written under `mappings`, and every access is atomic, so `unsafe` hides no race.
    nonisolated(unsafe) private static let newest = Atomic<UnsafeMutablePointer<Entry>?>(nil)

    private struct Mappings {
        /// The entries of the watched mappings, by address.
        var entries: [UInt: UnsafeMutablePointer<Entry>] = [:]
        var unused: [UnsafeMutablePointer<Entry>] = []
    }

    private static let mappings = Locked(Mappings())

    /// The previous handler.
    ///
    /// It is written once, under `mappings`, by the call that installs the handler that reads it, so `unsafe` hides no
    /// race.
    nonisolated(unsafe) private static var previous = sigaction()

    /// The number of pages that were replaced.
    ///
    /// What this process has written to such a page is lost.
    static var count: Int { replacements.load(ordering: .acquiring) }

    private static let replacements = Atomic(0)

    static func watch(_ page: UnsafeMutableRawPointer, _ length: Int) {
        unblock()
        let start = UInt(bitPattern: page)
        mappings.withLock { mappings in
            let entry = mappings.unused.popLast() ?? newEntry()
            entry.pointee.length.store(UInt(length), ordering: .releasing)
            entry.pointee.start.store(start, ordering: .releasing)
            mappings.entries[start] = entry
        }
    }

    static func unwatch(_ page: UnsafeMutableRawPointer) {
        let start = UInt(bitPattern: page)
        mappings.withLock { mappings in
            guard let entry = mappings.entries.removeValue(forKey: start) else { return }
            entry.pointee.start.store(0, ordering: .releasing)
            mappings.unused.append(entry)
        }
    }

    private static func newEntry() -> UnsafeMutablePointer<Entry> {
        let next = newest.load(ordering: .relaxed)
        if next == nil { install() }
        let entry = UnsafeMutablePointer<Entry>.allocate(capacity: 1)
        entry.initialize(to: Entry(next: next))
        newest.store(entry, ordering: .releasing)
        return entry
    }

    /// Unblocks the signal in the current thread, and in the threads that it starts from now on.
    ///
    /// A program that receives its signals with `sigwait` blocks all of them before it starts threads. A fault whose signal is blocked
    /// ends the process.
    private static func unblock() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGBUS)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    private static func install() {
        // The handler must not be the first to use them: that would take a lock.
        _ = replacements.load(ordering: .relaxed)
        _ = SystemCalls.pageSize
        var action = sigaction()
        #if canImport(Glibc)
        action.__sigaction_handler.sa_sigaction = handle
        #elseif canImport(Musl)
        action.__sa_handler.sa_sigaction = handle
        #else
        action.__sigaction_u.__sa_sigaction = handle
        #endif
        action.sa_flags = CInt(SA_SIGINFO) | CInt(bitPattern: UInt32(SA_ONSTACK))
        _ = sigaction(SIGBUS, &action, &previous)
    }

    /// The signal handler: it only reads memory that is already allocated and makes system calls.
    private static let handle:
        @convention(c) (CInt, UnsafeMutablePointer<siginfo_t>?, UnsafeMutableRawPointer?) -> Void =
            { number, information, context in
                if let information, replacePage(at: address(in: information)) { return }
                if callPrevious(number, information, context) { return }
                // Restore the default action. For a fault, it applies when the read is repeated.
                _ = sigaction(number, &previous, nil)
                if let information, information.pointee.si_code <= 0 { _ = raise(number) }
            }

    /// Forwards a signal to the previous handler, if there was one.
    private static func callPrevious(
        _ number: CInt,
        _ information: UnsafeMutablePointer<siginfo_t>?,
        _ context: UnsafeMutableRawPointer?
    ) -> Bool {
        #if canImport(Glibc)
        let handler = previous.__sigaction_handler.sa_sigaction
        #elseif canImport(Musl)
        let handler = previous.__sa_handler.sa_sigaction
        #else
        let handler = previous.__sigaction_u.__sa_sigaction
        #endif
        // 0 and 1 are SIG_DFL and SIG_IGN.
        guard let handler, unsafeBitCast(handler, to: UInt.self) > 1 else { return false }
        // A handler that was installed without SA_SIGINFO uses the number and ignores the other arguments.
        handler(number, information, context)
        return true
    }

    private static func address(in information: UnsafeMutablePointer<siginfo_t>) -> UInt {
        #if canImport(Darwin)
        return UInt(bitPattern: information.pointee.si_addr)
        #else
        // The field is in a union that Swift does not import. On 64-bit systems, its offset is 16, after three
        // integers.
        return UnsafeRawPointer(information).load(fromByteOffset: 16, as: UInt.self)
        #endif
    }

    private static func replacePage(at address: UInt) -> Bool {
        var next = newest.load(ordering: .acquiring)
        while let entry = next {
            next = entry.pointee.next
            let start = entry.pointee.start.load(ordering: .acquiring)
            let length = entry.pointee.length.load(ordering: .acquiring)
            // The entry may have been reused for another mapping since the first load.
            guard start != 0, address >= start, address - start < length,
                entry.pointee.start.load(ordering: .relaxed) == start
            else { continue }
            replacements.add(1, ordering: .relaxed)
            let size = SystemCalls.pageSize
            return SystemCalls.mapZeros(at: address / UInt(size) * UInt(size), size)
        }
        return false
    }
}
