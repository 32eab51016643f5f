// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// One request and its response, shared by the task that waits and the thread that uses the connection.
///
/// Whatever ends it first wins: the response, a failure, a timeout or the cancellation of the task.
final class Exchange: Sendable {
    /// The next part of the response.
    enum Event: Sendable {
        /// The next bytes of a stream.
        case piece([UInt8])
        case response(EtcdResponse)
        case failure(EtcdTransportError)
    }

    private struct State {
        /// Bytes of a stream that the task has not received.
        var pieces: [UInt8] = []
        /// The last event, which stays.
        var end: Event?
        var waiter: CheckedContinuation<Event, Never>?
        var mayHaveArrived = false
        /// Whether the thread of the sockets has stopped reading, because `pieces` is large.
        var isPaused = false
    }

    /// The number of bytes in `pieces` at which reading stops.
    private static let mostWaitingBytes = 256 << 10

    let request: EtcdRequest
    let isStream: Bool
    let deadline: ContinuousClock.Instant
    private let state = Locked(State())

    init(_ request: EtcdRequest, isStream: Bool) {
        self.request = request
        self.isStream = isStream
        deadline = .now + request.timeout.bounded
    }

    // MARK: - The task

    /// Waits for the next event.
    ///
    /// At most one task waits at a time.
    ///
    /// - Returns: The event, and whether the thread of the sockets must be asked to continue reading.
    func next() async -> (Event, isPaused: Bool) {
        let event = await withCheckedContinuation { (continuation: CheckedContinuation<Event, Never>) in
            let event = state.withLock { state -> Event? in
                let event = Self.takeEvent(&state)
                if event == nil { state.waiter = continuation }
                return event
            }
            if let event { continuation.resume(returning: event) }
        }
        let wasPaused = state.withLock { state in
            defer { state.isPaused = false }
            return state.isPaused
        }
        return (event, wasPaused)
    }

    private static func takeEvent(_ state: inout State) -> Event? {
        // A stream that has failed loses the bytes before the failure, which the server sends again.
        if case .failure = state.end { return state.end }
        guard !state.pieces.isEmpty else { return state.end }
        let pieces = state.pieces
        state.pieces = []
        return .piece(pieces)
    }

    // MARK: - The end

    /// Whether the exchange has ended.
    var isOver: Bool { state.withLock { $0.end != nil } }

    func finish(_ response: EtcdResponse) {
        end(.response(response))
    }

    /// Ends the exchange with an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - reason: The cause.
    func fail(_ code: EtcdTransportError.Code, _ reason: String) {
        end(nil, code, reason)
    }

    private func end(_ event: Event?, _ code: EtcdTransportError.Code = .canceled, _ reason: String = "") {
        let (waiter, received) = state.withLock { state -> (CheckedContinuation<Event, Never>?, Event?) in
            guard state.end == nil else { return (nil, nil) }
            let error = EtcdTransportError(code, mayHaveArrived: state.mayHaveArrived, reason: reason)
            state.end = event ?? .failure(error)
            guard let waiter = state.waiter else { return (nil, nil) }
            state.waiter = nil
            return (waiter, Self.takeEvent(&state))
        }
        if let waiter, let received { waiter.resume(returning: received) }
    }

    // MARK: - The thread that uses the connection

    /// Records that the request may arrive from now on.
    ///
    /// - Returns: Whether it may have arrived before; `nil` when the exchange has ended, so that nothing must be sent.
    func beginSending() -> Bool? {
        state.withLock { state in
            guard state.end == nil else { return nil }
            defer { state.mayHaveArrived = true }
            return state.mayHaveArrived
        }
    }

    /// Records that nothing was sent after ``beginSending()``, whose result is the argument.
    func undoSending(_ hadArrived: Bool) {
        state.withLock { $0.mayHaveArrived = hadArrived }
    }

    var mayHaveArrived: Bool { state.withLock { $0.mayHaveArrived } }

    /// The error of an exchange that fails now.
    func error(_ code: EtcdTransportError.Code, _ reason: String) -> EtcdTransportError {
        EtcdTransportError(code, mayHaveArrived: mayHaveArrived, reason: reason)
    }

    /// Passes on bytes of a stream.
    ///
    /// - Returns: Whether to continue reading.
    func receive(_ bytes: [UInt8]) -> Bool {
        let (waiter, mayContinue) = state.withLock { state -> (CheckedContinuation<Event, Never>?, Bool) in
            guard state.end == nil else { return (nil, true) }
            if let waiter = state.waiter {
                state.waiter = nil
                return (waiter, true)
            }
            state.pieces += bytes
            state.isPaused = state.pieces.count >= Self.mostWaitingBytes
            return (nil, !state.isPaused)
        }
        waiter?.resume(returning: .piece(bytes))
        return mayContinue
    }
}

extension Duration {
    /// The duration, between nothing and a year, so that adding it to an instant cannot overflow.
    var bounded: Duration { min(max(self, .zero), .seconds(365 * 86_400)) }
}
