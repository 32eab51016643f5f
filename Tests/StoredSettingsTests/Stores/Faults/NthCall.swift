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

/// What goes wrong with a system call.
enum CallFailure: Sendable, CustomTestStringConvertible, CaseIterable {
    case inputOutputError, noSpace, interrupted, notPermitted, tooManyFiles
    /// Half of the bytes are written.
    case shortWrite
    /// Half of the bytes are written, and then there is no more room.
    case shortWriteOnFullDisk

    /// What `errno` is.
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

    var cutsWrites: Bool { self == .shortWrite || self == .shortWriteOnFullDisk }

    /// Whether a call that it happens to is made again, so that nobody need be told.
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

/// Makes the n-th system call of a thread fail, once or with all that follow it.
final class NthCall: Sendable {
    struct Call: Sendable, Hashable, CustomStringConvertible {
        var name: SystemCalls.Name
        var path: String

        var description: String { "\(name) \(path.split(separator: "/").last ?? "")" }
    }

    private struct State {
        var left: Int
        /// How many writes there have been since one was cut short, that one included.
        var writes = 0
        var isPaused = false
        var victim: Call?
    }

    private let failure: CallFailure
    private let lastsForever: Bool
    private let thread = SystemCalls.currentThread()
    private let state: Mutex<State>

    /// Creates a failure of one of the calls that the current thread makes from now on.
    ///
    /// - Parameters:
    ///   - failure: What goes wrong.
    ///   - number: Which call it befalls, from 1; of a failure of writes, which write.
    ///   - lastsForever: Whether it befalls every call from then on, of every thread.
    init(_ failure: CallFailure, call number: Int, lastsForever: Bool = false) {
        self.failure = failure
        self.lastsForever = lastsForever
        state = Mutex(State(left: number))
    }

    var system: SystemCalls {
        SystemCalls(
            fault: { [self] name, path in fault(Call(name: name, path: path)) },
            writeLimit: { [self] path, count in limit(path, count) }
        )
    }

    /// The call that failed; `nil` when there were not as many.
    var victim: Call? { state.withLock(\.victim) }

    /// Whether every call succeeds, and none is counted.
    var isPaused: Bool {
        get { state.withLock(\.isPaused) }
        set { state.withLock { $0.isPaused = newValue } }
    }

    private func fault(_ call: Call) -> CInt? {
        state.withLock { state in
            guard !state.isPaused else { return nil }
            if lastsForever, state.victim != nil { return failure.number }
            guard thread == SystemCalls.currentThread() else { return nil }
            if failure.cutsWrites {
                guard call.name == .write, state.victim != nil else { return nil }
                state.writes += 1
                return state.writes == 2 ? failure.number : nil
            }
            return isNext(&state, call) ? failure.number : nil
        }
    }

    private func limit(_ path: String, _ count: Int) -> Int? {
        guard failure.cutsWrites, thread == SystemCalls.currentThread() else { return nil }
        return state.withLock { state in
            guard !state.isPaused, isNext(&state, Call(name: .write, path: path)) else { return nil }
            return count / 2
        }
    }

    private func isNext(_ state: inout State, _ call: Call) -> Bool {
        guard state.victim == nil else { return false }
        state.left -= 1
        guard state.left == 0 else { return false }
        state.victim = call
        return true
    }
}
