// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The overrides of a suite, in the order in which they win.
final class OverrideList: Sendable {
    let overrides: [SettingsOverride]
    private let told = Locked<Set<String>>([])

    /// `nil` when there are none.
    init?(_ overrides: [SettingsOverride]) {
        guard !overrides.isEmpty else { return nil }
        self.overrides = [SettingsLayer.commandLine, .environment]
            .flatMap { layer in
                overrides.filter { $0.layer == layer }
            }
    }

    /// Whether nobody has asked this of the same error before: one is enough for all who name a setting.
    func isFirst(_ error: SettingsError) -> Bool {
        told.withLock { $0.insert(error.message).inserted }
    }
}

extension OverrideList? {
    /// Whether both give the same values.
    func isLike(_ other: OverrideList?) -> Bool {
        self === other || self?.overrides == other?.overrides
    }
}

/// What one override gives for a setting.
struct OverrideReading<Value: Sendable>: Sendable {
    let layer: SettingsLayer
    /// The flag or the variable.
    let source: String
    let result: Result<SettingBox<Value>.Reading, SettingsError>

    var reading: SettingBox<Value>.Reading? {
        guard case .success(let reading) = result else { return nil }
        return reading
    }
}

/// What the overrides give for a setting, which is the same for as long as the process.
final class OverrideCell<Value: Sendable>: Sendable {
    private let known = Locked<[OverrideReading<Value>]?>(nil)

    /// The readings, highest first.
    ///
    /// - Parameter read: Finds them, under no lock; when several threads come first, each does.
    /// - Returns: The readings, and whether they are new.
    func readings(_ read: () -> [OverrideReading<Value>]) -> (readings: [OverrideReading<Value>], isNew: Bool) {
        if let readings = known.withLock({ $0 }) { return (readings, false) }
        let new = read()
        return known.withLock { known in
            if let known { return (known, false) }
            known = new
            return (new, true)
        }
    }
}
