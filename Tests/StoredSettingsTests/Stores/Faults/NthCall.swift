// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import StoredSettings

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A way in which a system call fails.
enum CallFailure: Sendable, CustomTestStringConvertible, CaseIterable {
    case inputOutputError, noSpace, interrupted, notPermitted, tooManyFiles
    /// Half of the bytes are written.
    case shortWrite
    /// Half of the bytes are written, and the next write fails because the disk is full.
    case shortWriteOnFullDisk

    /// The value of `errno`; `nil` when the call succeeds.
    var number: CInt? {
        switch self {
        case .inputOutputError: EIO
        case .noSpace, .shortWriteOnFullDisk: ENOSPC
        case .interrupted: EINTR
        case .notPermitted: EACCES
        case .tooManyFiles: EMFILE
        case .shortWrite: nil
        }
    }

    var shortensWrites: Bool { self == .shortWrite || self == .shortWriteOnFullDisk }

    /// Whether the library repeats such a call without a report.
    var isRetried: Bool { self == .interrupted || self == .shortWrite }

    var testDescription: String {
        switch self {
        case .inputOutputError: "EIO"
        case .noSpace: "ENOSPC"
        case .interrupted: "EINTR"
        case .notPermitted: "EACCES"
        case .tooManyFiles: "EMFILE"
        case .shortWrite: "short write"
        case .shortWriteOnFullDisk: "short write, then ENOSPC"
        }
    }
}

/// Makes the n-th system call of a thread fail, either once or with all later calls.
final class NthCall: Sendable {
    struct Call: Sendable, Hashable, CustomStringConvertible {
        var name: SystemCalls.Name
        var path: String

        var description: String { "\(name) \(path.split(separator: "/").last ?? "")" }
    }

    private struct State {
        var left: Int
        /// The number of writes since the shortened one, including it.
        var writes = 0
        var isPaused = false
        var failedCall: Call?
    }

    private let failure: CallFailure
    private let number: Int
    private let isPermanent: Bool
    private let thread = SystemCalls.currentThread()
    private let state: Mutex<State>

    /// Creates a failure of a later call of the current thread.
    ///
    /// - Parameters:
    ///   - failure: The way in which the call fails.
    ///   - number: The number of the call, from 1; for a short write, the number of the write.
    ///   - isPermanent: Whether all later calls of all threads fail, too.
    init(_ failure: CallFailure, call number: Int, isPermanent: Bool = false) {
        (self.failure, self.number, self.isPermanent) = (failure, number, isPermanent)
        state = Mutex(State(left: number))
    }

    var system: SystemCalls {
        SystemCalls(
            fault: { [self] name, path in fault(Call(name: name, path: path)) },
            writeLimit: { [self] path, count in limit(path, count) }
        )
    }

    /// How many calls there were of those that are counted, up to the one that failed.
    var count: Int { state.withLock { number - $0.left } }

    /// The call that failed; `nil` if there were fewer calls.
    var failedCall: Call? { state.withLock(\.failedCall) }

    /// Whether calls succeed and are not counted.
    var isPaused: Bool {
        get { state.withLock(\.isPaused) }
        set { state.withLock { $0.isPaused = newValue } }
    }

    private func fault(_ call: Call) -> CInt? {
        state.withLock { state in
            // What the system shows about a directory is on no disk. If it cannot be read, the directory is looked at instead:
            // see `RedirectedDirectoryTests`.
            guard !state.isPaused, !call.path.hasPrefix("/proc/") else { return nil }
            if isPermanent, state.failedCall != nil { return failure.number }
            guard thread == SystemCalls.currentThread() else { return nil }
            if failure.shortensWrites {
                guard call.name == .write, state.failedCall != nil else { return nil }
                state.writes += 1
                return state.writes == 2 ? failure.number : nil
            }
            return isNext(&state, call) ? failure.number : nil
        }
    }

    private func limit(_ path: String, _ count: Int) -> Int? {
        guard failure.shortensWrites, thread == SystemCalls.currentThread() else { return nil }
        return state.withLock { state in
            guard !state.isPaused, isNext(&state, Call(name: .write, path: path)) else { return nil }
            return count / 2
        }
    }

    private func isNext(_ state: inout State, _ call: Call) -> Bool {
        guard state.failedCall == nil else { return false }
        state.left -= 1
        guard state.left == 0 else { return false }
        state.failedCall = call
        return true
    }
}
