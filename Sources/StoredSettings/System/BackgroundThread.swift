// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Starts threads of the library's own.
///
/// Such a thread needs no descriptor, does not keep the process alive, and leaves the application's signals alone.
enum BackgroundThread {
    /// The size of a thread's stack, in bytes.
    ///
    /// Enough for reading deeply nested values, and for a reporter or an observer of the application. Only the pages that
    /// are used take memory.
    private static let stackSize = 4 << 20

    /// Starts a thread.
    ///
    /// - Parameters:
    ///   - system: Makes the call.
    ///   - body: What the thread does. The thread ends when it returns.
    /// - Throws: ``SystemError`` when the system has no room for another thread.
    static func start(_ system: SystemCalls, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, stackSize)
        // The thread releases the body. When there is no thread, it is released here.
        let argument = Unmanaged.passRetained(ThreadBody(run: body))
        do {
            // A new thread begins with the signal mask of the thread that creates it.
            var (mask, previous) = (applicationSignals, sigset_t())
            pthread_sigmask(SIG_BLOCK, &mask, &previous)
            defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
            _ = try system.call(.thread, "thread") { create(&attributes, argument.toOpaque()) }
        } catch {
            argument.release()
            throw error
        }
    }

    /// All signals but those that a fault of the thread itself raises: the application handles the others on its threads.
    ///
    /// The system ends a process in which a fault raises a blocked signal, and the library handles `SIGBUS` itself.
    private static var applicationSignals: sigset_t {
        var signals = sigset_t()
        sigfillset(&signals)
        for fault in [SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&signals, fault) }
        return signals
    }

    /// - Returns: 0, or -1 with the reason in `errno`, as other calls do.
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

/// The argument is the retained body that `BackgroundThread` has passed.
private func runBody(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}
