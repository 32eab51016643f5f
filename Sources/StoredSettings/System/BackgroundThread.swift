// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Starts the background threads of the library.
///
/// Such a thread needs no file descriptor, does not keep the process alive, and does not handle the application's
/// signals.
package enum BackgroundThread {
    /// The stack size of a thread, in bytes.
    ///
    /// It is sufficient for deeply nested values, and for the application's reporters and observers. Only the pages
    /// that are used need memory.
    private static let stackSize = 4 << 20

    /// Starts a thread, which ends when the body returns.
    ///
    /// - Throws: ``SystemError`` when the system refuses to create another thread.
    package static func start(_ system: SystemCalls, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, stackSize)
        // The thread releases the body. If no thread is created, the body is released below.
        let argument = Unmanaged.passRetained(ThreadBody(run: body))
        do {
            // A new thread inherits the signal mask of the thread that creates it.
            var (mask, previous) = (applicationSignals, sigset_t())
            pthread_sigmask(SIG_SETMASK, &mask, &previous)
            defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
            _ = try system.call(.thread, "thread") { create(&attributes, argument.toOpaque()) }
        } catch {
            argument.release()
            throw error
        }
    }

    /// All signals except those that a fault of the thread itself raises.
    ///
    /// The application handles the other signals on its own threads. A fault that raises a blocked signal would end the
    /// process, and the library handles `SIGBUS` itself.
    private static var applicationSignals: sigset_t {
        var signals = sigset_t()
        sigfillset(&signals)
        for fault in [SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&signals, fault) }
        return signals
    }

    /// Creates a thread that runs a retained ``ThreadBody``.
    ///
    /// - Returns: 0, or -1 with the reason in `errno`, like other system calls.
    private static func create(
        _ attributes: UnsafePointer<pthread_attr_t>,
        _ argument: UnsafeMutableRawPointer
    ) -> CInt {
        #if canImport(Darwin)
        var thread: pthread_t?
        let number = pthread_create(&thread, attributes, { runBody($0) }, argument)
        #elseif canImport(Musl)
        var thread: pthread_t?
        let number = pthread_create(&thread, attributes, runBody, argument)
        #else
        var thread = pthread_t()
        let number = pthread_create(&thread, attributes, runBody, argument)
        #endif
        errno = number
        return number == 0 ? 0 : -1
    }
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

/// Runs and releases the retained body in the argument.
private func runBody(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}
