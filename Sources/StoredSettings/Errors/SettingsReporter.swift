// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Receives failures that cannot be thrown: of assignments, of reads, and of background work.
///
/// A suite has one reporter. A failure in the background is reported to the reporters of all suites with the same store.
/// Reports arrive on the thread where the failure occurred, under no lock of this library, so a reporter may log, count, and
/// use settings. A failure is reported once, and again when it occurs again after it was settled.
public protocol SettingsReporter: AnyObject, Sendable {
    /// Receives a failure.
    ///
    /// - Parameter error: The fact, the consequence and the fix.
    func report(_ error: SettingsError)

    /// Receives a failure that was reported before and is settled: the unusable value was replaced or removed, the file
    /// can be read again, or it was written after all.
    ///
    /// - Parameter error: The failure as it was reported.
    func reportRecovery(from error: SettingsError)
}

extension SettingsReporter {
    /// Does nothing.
    ///
    /// This is sufficient for a reporter that only counts or logs failures.
    public func reportRecovery(from error: SettingsError) {}
}

/// The default reporter, which writes one line to standard error for each distinct failure, and one when it is settled.
public final class StandardErrorReporter: SettingsReporter {
    /// The reporter that all suites share by default.
    public static let shared = StandardErrorReporter()

    private let written = Locked<Set<String>>([])
    private let write: @Sendable (String) -> Void

    /// The number of messages that are remembered.
    ///
    /// Then all are forgotten, so that memory is bounded.
    private static let maximumCount = 1_000

    init(write: @escaping @Sendable (String) -> Void = { SystemCalls.writeToStandardError($0) }) {
        self.write = write
    }

    /// Writes that a failure is settled, if it was written before.
    public func reportRecovery(from error: SettingsError) {
        guard written.withLock({ $0.remove(error.message) }) != nil else { return }
        let names = [error.key.map { "'\($0)'" }, error.suite.map { "suite '\($0)'" }].compactMap { $0 }
        let subject = names.isEmpty ? error.location.map(\.file) ?? "the settings" : names.joined(separator: " of ")
        write("StoredSettings: \(TerminalText.escaped("\(subject): the problem is settled: \(error.fact)"))\n")
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
