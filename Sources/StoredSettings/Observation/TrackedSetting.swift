// SPDX-License-Identifier: Apache-2.0

/// A setting of any type, whose last value a subscriber of several settings knows.
protocol ChangeTracking: AnyObject, Sendable {
    /// The number of the newest contents of the layers that change around the store; `nil` without such layers.
    var snapshotNumber: UInt64? { get }

    /// Reads the value, without using it yet.
    func read(in contents: [String: StoredValue])

    /// Uses the value that was read, and returns whether it differs from the last one.
    func adopt() -> Bool
}

extension [any ChangeTracking] {
    /// Reads all settings, with the layers of now.
    ///
    /// The stored values must be those of now, too: older ones and the layers, or layers of different moments, may be a
    /// combination that never was. The subscriber has been offered every change that is stored by now.
    ///
    /// - Returns: Whether a value has changed.
    func readAll(_ keys: Set<String>, of engine: SettingsEngine) -> Bool {
        for _ in 0..<LayerList.maximumOfReads {
            let (contents, layers) = (engine.contents(of: keys), map(\.snapshotNumber))
            for tracker in self { tracker.read(in: contents) }
            guard layers.contains(where: { $0 != nil }) else { break }
            if engine.contents(of: keys) == contents, layers == map(\.snapshotNumber) { break }
        }
        return reduce(false) { $1.adopt() || $0 }
    }
}

extension SettingsEngine {
    /// The newest values of some keys, of one consistent read, which copies all values of the store only while they change.
    fileprivate func contents(of keys: Set<String>) -> [String: StoredValue] {
        let before = version
        let values = keys.reduce(into: [:]) { $0[$1] = value(forKey: $1) }
        return version == before ? values : contents().filter { keys.contains($0.key) }
    }
}

/// The last value of a setting for one subscriber.
///
/// Unchecked: an iterator belongs to one loop, and the calls of an observer do not overlap.
final class TrackedSetting<Value: Sendable>: ChangeTracking, @unchecked Sendable {
    /// Owns the engine, which its box does not.
    private let setting: Setting<Value>
    /// Whether the setting belongs to the suite of the subscriber, so that its changes arrive here.
    private let isOwn: Bool
    private var reading: SettingBox<Value>.Reading
    private var next: SettingBox<Value>.Reading?

    init(_ setting: Setting<Value>, for engine: SettingsEngine) {
        self.setting = setting
        isOwn = setting.engine === engine
        reading = setting.box.consistentReading(of: setting.box.storedValue)
    }

    private var box: SettingBox<Value> { setting.box }

    var value: Value { reading.value }

    var snapshotNumber: UInt64? { box.layers?.files?.snapshot.number }

    func read(in contents: [String: StoredValue]) {
        guard isOwn else { return }
        next = box.reading(of: setting.storedKeys.value { contents[$0] })
    }

    func adopt() -> Bool {
        defer { next = nil }
        guard let next, box.identity(of: next) != box.identity(of: reading) else { return false }
        reading = next
        return true
    }
}
