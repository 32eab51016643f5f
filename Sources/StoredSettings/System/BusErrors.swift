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
    /// The addresses of the watched mappings, each followed by its length; 0 in unused entries.
    ///
    /// The table has a fixed size and is never freed, so that the handler needs neither a lock nor an allocation. The
    /// pointer never changes. The entries are written under `lock`, and every access to them is atomic, so `unsafe` hides
    /// no race.
    nonisolated(unsafe) private static let pages = {
        let pages = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: 2 * capacity)
        for index in 0..<2 * capacity { (pages + index).initialize(to: Atomic(0)) }
        return pages
    }()

    /// The maximum number of watched mappings; further ones are not watched.
    private static let capacity = 8_192

    private static let lock = Locked(false)

    /// The previous handler.
    ///
    /// It is written once, under `lock`, by the call that installs the handler that reads it, so `unsafe` hides no race.
    nonisolated(unsafe) private static var previous = sigaction()

    /// The number of pages that were replaced.
    ///
    /// What this process has written to such a page is lost.
    static var count: Int { replacements.load(ordering: .acquiring) }

    private static let replacements = Atomic(0)

    static func watch(_ page: UnsafeMutableRawPointer, _ length: Int = SharedPage.size) {
        lock.withLock { isInstalled in
            for index in 0..<capacity where pages[2 * index].load(ordering: .relaxed) == 0 {
                pages[2 * index + 1].store(UInt(length), ordering: .releasing)
                pages[2 * index].store(UInt(bitPattern: page), ordering: .releasing)
                break
            }
            if !isInstalled { install() }
            isInstalled = true
        }
    }

    static func unwatch(_ page: UnsafeMutableRawPointer) {
        lock.withLock { _ in
            for index in 0..<capacity where pages[2 * index].load(ordering: .relaxed) == UInt(bitPattern: page) {
                pages[2 * index].store(0, ordering: .releasing)
                break
            }
        }
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
        for index in 0..<capacity {
            let start = pages[2 * index].load(ordering: .acquiring)
            let length = pages[2 * index + 1].load(ordering: .acquiring)
            // The entry may have been reused for another mapping since the first load.
            guard start != 0, address >= start, address - start < length,
                pages[2 * index].load(ordering: .relaxed) == start
            else { continue }
            replacements.add(1, ordering: .relaxed)
            let size = SystemCalls.pageSize
            return SystemCalls.mapZeros(at: address / UInt(size) * UInt(size), size)
        }
        return false
    }
}
