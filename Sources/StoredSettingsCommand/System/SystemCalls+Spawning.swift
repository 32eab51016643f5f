// SPDX-License-Identifier: Apache-2.0

import StoredSettings

// `environ` is a variable of the C library.
#if canImport(Glibc)
@preconcurrency import Glibc
#elseif canImport(Musl)
@preconcurrency import Musl
#elseif canImport(Darwin)
@preconcurrency import Darwin
#endif

// Other programs, and the temporary files that they are given.

extension SystemCalls {
    /// Runs a command of the shell, which uses the standard streams of this process, and waits for its end.
    ///
    /// - Parameters:
    ///   - command: The command. Its parameters are `"$1"`, `"$2"` and so on.
    ///   - parameters: The parameters.
    ///   - isInteractive: Whether an interrupt from the terminal is for the command, not for this process. Other signals that
    ///     would end this process are forwarded to the command.
    /// - Returns: The exit code of the command, or 128 and the number of the signal that ended it or was forwarded to it.
    /// - Throws: ``SystemError`` when the shell cannot be started.
    func runShell(_ command: String, _ parameters: [FilePath], isInteractive: Bool) throws(SystemError) -> Int32 {
        let words: [FilePath] = ["sh", "-c", FilePath(command), "sh"] + parameters
        guard words.allSatisfy(\.isValid) else {
            throw SystemError(call: .open, path: FilePath(command), number: EINVAL)
        }
        // Each copy is freed below, after the system has copied it into the new process.
        var copies: [UnsafeMutablePointer<CChar>?] = words.map { $0.withCString { strdup($0) } } + [nil]
        defer { for copy in copies { free(copy) } }

        // Otherwise, a signal would end this process, and leave the files that the command uses. A handler that does nothing
        // is not enough: a thread that runs late would call the one that has been restored by then.
        let ignored = isInteractive ? [SIGINT, SIGQUIT] : []
        var handlers = SignalHandlers()
        defer { handlers.restore() }
        handlers.install(SIG_IGN, for: ignored)
        var ignoredHere = sigset_t()
        sigemptyset(&ignoredHere)
        for number in handlers.numbers { sigaddset(&ignoredHere, number) }
        // While this process ignores it, or handles it by waiting for any process, the exit code is lost.
        handlers.install(SIG_DFL, for: [SIGCHLD], evenIfIgnored: true)
        ForwardedSignals.begin(&handlers, for: SignalHandlers.ending.filter { !ignored.contains($0) })

        #if canImport(Darwin)
        var attributes: posix_spawnattr_t?
        #else
        var attributes = posix_spawnattr_t()
        #endif
        // The calling thread may block signals, and the command would inherit that, and signals that are ignored. The calls
        // fill or copy the structures, and do not retain the pointers.
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setsigdefault(&attributes, &ignoredHere)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var process: pid_t = 0
        _ = try call(.open, "/bin/sh") {
            // It returns an error number instead of setting `errno`. The array ends with a null pointer. The command does not
            // inherit handlers.
            errno = posix_spawn(&process, "/bin/sh", nil, &attributes, &copies, environ)
            return errno == 0 ? 0 : -1
        }
        ForwardedSignals.send(to: process)
        var status: CInt = 0
        while waitpid(process, &status, 0) == -1 {
            guard errno == EINTR else { throw SystemError(call: .status, path: "/bin/sh", number: errno) }
        }
        let forwarded = ForwardedSignals.end()
        guard forwarded == 0 else { return 128 + forwarded }
        let endingSignal = status & 0x7F
        return endingSignal == 0 ? (status >> 8) & 0xFF : 128 + endingSignal
    }

    /// Creates a directory that only this user can enter, with a new name.
    ///
    /// - Parameter parent: The directory that contains it.
    /// - Returns: The path of the directory.
    /// - Throws: ``SystemError``.
    func makePrivateDirectory(in parent: FilePath) throws(SystemError) -> FilePath {
        let number = String(UInt64.random(in: 0 ... .max), radix: 16)
        let directory = parent.appending(FilePath("stored-settings-\(number)"))
        try makeDirectory(directory, in: nil)
        return directory
    }

    /// Removes an empty directory.
    func removeDirectory(_ path: FilePath) throws(SystemError) {
        _ = try call(.unlink, path) { path.withCString { rmdir($0) } }
    }
}
