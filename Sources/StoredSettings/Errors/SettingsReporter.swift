// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Receives failures that cannot be thrown: of assignments, of reads, and of background work.
///
/// A suite has one reporter. A failure in the background is reported to the reporters of all suites with the same store.
/// Reports arrive on the thread where the failure occurred, under no lock of this library, so a reporter may log, count, and
/// use settings. One failure may be reported more than once.
public protocol SettingsReporter: AnyObject, Sendable {
    /// Receives a failure.
    ///
    /// - Parameter error: The fact, the consequence and the fix.
    func report(_ error: SettingsError)
}

/// The default reporter, which writes one line to standard error for each distinct failure.
public final class StandardErrorReporter: SettingsReporter {
    /// The reporter that all suites share by default.
    public static let shared = StandardErrorReporter()

    private let written = Locked<Set<String>>([])
    private let write: @Sendable (String) -> Void

    /// The number of messages that are remembered.
    ///
    /// Then all are forgotten, so that memory is bounded.
    private static let maximumCount = 1_000

    convenience init() {
        self.init { SystemCalls.writeToStandardError($0) }
    }

    init(write: @escaping @Sendable (String) -> Void) {
        self.write = write
    }

    /// Writes the error's message, unless the same message has been written before.
    public func report(_ error: SettingsError) {
        let message = error.message
        let isNew = written.withLock { written in
            if written.count >= Self.maximumCount { written.removeAll() }
            return written.insert(message).inserted
        }
        if isNew { write("StoredSettings: \(message)\n") }
    }
}
