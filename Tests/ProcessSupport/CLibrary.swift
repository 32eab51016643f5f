// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// What the C libraries declare differently, or Swift does not import.
package enum CLibrary {
    #if canImport(Glibc)
    package static let streamSocket = CInt(SOCK_STREAM.rawValue)
    package static let openFiles = CInt(RLIMIT_NOFILE.rawValue)
    package static let addressSpace = CInt(RLIMIT_AS.rawValue)
    #else
    package static let streamSocket = SOCK_STREAM
    package static let openFiles = RLIMIT_NOFILE
    package static let addressSpace = RLIMIT_AS
    #endif

    /// Closes a socket when another program is executed; 0 where the system has no such flag.
    #if canImport(Glibc)
    package static let closesOnExecution = CInt(SOCK_CLOEXEC.rawValue)
    #elseif canImport(Darwin)
    package static let closesOnExecution: CInt = 0
    #else
    package static let closesOnExecution = SOCK_CLOEXEC
    #endif

    /// Creates a child process that is a copy of this one.
    ///
    /// - Returns: The process ID of the child; 0 in the child, and -1 after a failure.
    /// - Throws: `ChildProcess.Failure` if the other threads of this process never sleep.
    package static func fork() throws -> pid_t {
        try Surroundings.waitUntilOtherThreadsSleep()
        return copyProcess()
    }
}

/// The C function `fork`, which Swift hides, because most functions are unsafe in a child that does not call `exec`.
@_silgen_name("fork")
private func copyProcess() -> pid_t

extension stat {
    /// The times of the last access, the last write, and the last change of the file or its status.
    package var times: (access: timespec, modification: timespec, change: timespec) {
        #if canImport(Darwin)
        (st_atimespec, st_mtimespec, st_ctimespec)
        #else
        (st_atim, st_mtim, st_ctim)
        #endif
    }
}
