// SPDX-License-Identifier: Apache-2.0

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
