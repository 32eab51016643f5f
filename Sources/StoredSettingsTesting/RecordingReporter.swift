// SPDX-License-Identifier: Apache-2.0

public import StoredSettings
import Synchronization

/// A reporter that records errors, for tests.
///
/// ```swift
/// let reporter = RecordingReporter()
/// let suite = SettingsSuite.inMemory(reporter: reporter)
/// …
/// #expect(reporter.errors.map(\.code) == [.typeMismatch])
/// ```
public final class RecordingReporter: SettingsReporter {
    private let recorded = Mutex<[SettingsError]>([])

    /// Creates a reporter without errors.
    public init() {}

    /// The reported errors, in order.
    public var errors: [SettingsError] { recorded.withLock { $0 } }

    /// Removes all recorded errors.
    public func removeAll() {
        recorded.withLock { $0.removeAll() }
    }

    /// Records the error.
    public func report(_ error: SettingsError) {
        recorded.withLock { $0.append(error) }
    }
}
