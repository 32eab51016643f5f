// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Keeps the process alive when somebody cuts a file short that it has mapped.
///
/// The system answers a read of what is gone with `SIGBUS`, which ends the process. A handler for it puts a page of
/// zeros in the place of the lost one, and the read goes on; all signals for other memory go to who was there before.
enum BusErrors {
    /// The pages to be replaced, by their addresses; 0 where there is none.
    ///
    /// Fixed in size and never freed, so that the handler needs no lock and no memory. Written under `lock`.
    nonisolated(unsafe) private static let pages = {
        let pages = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: capacity)
        for index in 0..<capacity { (pages + index).initialize(to: Atomic(0)) }
        return pages
    }()

    /// More suites than files a process may have open; beyond it, pages are not watched.
    private static let capacity = 8_192

    private static let lock = Locked(false)

    /// The handler that was there before; written once, before the handler that reads it is in place.
    nonisolated(unsafe) private static var previous = sigaction()

    static func watch(_ page: UnsafeMutableRawPointer) {
        lock.withLock { isInstalled in
            for index in 0..<capacity where pages[index].load(ordering: .relaxed) == 0 {
                pages[index].store(UInt(bitPattern: page), ordering: .releasing)
                break
            }
            if !isInstalled { install() }
            isInstalled = true
        }
    }

    static func unwatch(_ page: UnsafeMutableRawPointer) {
        lock.withLock { _ in
            for index in 0..<capacity where pages[index].load(ordering: .relaxed) == UInt(bitPattern: page) {
                pages[index].store(0, ordering: .releasing)
                break
            }
        }
    }

    private static func install() {
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

    /// Runs inside the signal: it reads memory that is already there and makes system calls, and nothing else.
    private static let handle:
        @convention(c) (CInt, UnsafeMutablePointer<siginfo_t>?, UnsafeMutableRawPointer?) -> Void =
            { number, information, context in
                if let information, replacePage(at: address(in: information)) { return }
                if callPrevious(number, information, context) { return }
                // The system's own answer: for a fault, when the read is repeated.
                _ = sigaction(number, &previous, nil)
                if let information, information.pointee.si_code <= 0 { _ = raise(number) }
            }

    /// Hands a signal on to the handler that was there before, if there was one.
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
        // 0 and 1 stand for the system's own answer and for none.
        guard let handler, unsafeBitCast(handler, to: UInt.self) > 1 else { return false }
        // A handler that was set with the other type of function takes the number, and does not look at the rest.
        handler(number, information, context)
        return true
    }

    private static func address(in information: UnsafeMutablePointer<siginfo_t>) -> UInt {
        #if canImport(Darwin)
        return UInt(bitPattern: information.pointee.si_addr)
        #else
        // In a union that Swift does not name: it stands after three integers, on 64-bit systems at 16.
        return UnsafeRawPointer(information).load(fromByteOffset: 16, as: UInt.self)
        #endif
    }

    private static func replacePage(at address: UInt) -> Bool {
        for index in 0..<capacity {
            let page = pages[index].load(ordering: .acquiring)
            guard page != 0, address >= page, address - page < UInt(SharedPage.size) else { continue }
            return SystemCalls.mapZeros(at: page, SharedPage.size)
        }
        return false
    }
}
