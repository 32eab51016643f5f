// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Hears of what fails where nothing can be thrown: in an assignment, in a read, in the background.
///
/// A suite has one reporter. What fails in the background is told to those of all suites that are kept in the same place.
/// A reporter is called on the thread on which the failure was met, never under a lock of this library, so it may log,
/// count, and use settings. The same failure may be reported more than once.
public protocol SettingsReporter: AnyObject, Sendable {
    /// Takes notice of a failure.
    ///
    /// - Parameter error: The fact, the consequence and the fix.
    func report(_ error: SettingsError)
}

/// The reporter that suites have unless they are given another: one line on standard error for each distinct failure.
public final class StandardErrorReporter: SettingsReporter {
    /// The one that all suites share.
    public static let shared = StandardErrorReporter()

    private let told = Locked<Set<String>>([])
    private let write: @Sendable (String) -> Void

    /// How many failures are remembered as told; past that all are forgotten, so that memory stays bounded.
    private static let mostRemembered = 1_000

    convenience init() {
        self.init { SystemCalls.writeToStandardError($0) }
    }

    init(write: @escaping @Sendable (String) -> Void) {
        self.write = write
    }

    /// Writes the error's message, unless the same one has been written.
    public func report(_ error: SettingsError) {
        let message = error.message
        let isNew = told.withLock { told in
            if told.count >= Self.mostRemembered { told.removeAll() }
            return told.insert(message).inserted
        }
        if isNew { write("StoredSettings: \(message)\n") }
    }
}
