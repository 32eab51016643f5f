// SPDX-License-Identifier: Apache-2.0

// What is printed names suites, settings and keys. It never holds a value, since values may be secret, nor what the
// library keeps inside.

extension SettingsSuite: CustomStringConvertible {
    /// The suite's name and where it is kept, without values.
    public var description: String {
        let persistence = persistence
        return name == persistence.path ? "suite \(persistence)" : "suite '\(name)', \(persistence)"
    }
}

extension SettingsSuite: CustomReflectable {
    /// A mirror without parts, so that `dump` prints the ``description`` alone.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension SettingsPersistence {
    fileprivate var path: String? {
        switch self {
        case .durable(let path), .readOnly(let path, _): path
        case .ephemeral: nil
        }
    }
}
