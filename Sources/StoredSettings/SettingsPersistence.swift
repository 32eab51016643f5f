// SPDX-License-Identifier: Apache-2.0

/// How long what is stored in a suite lasts.
public enum SettingsPersistence: Sendable, Hashable {
    /// Values are kept in this file and outlive the process.
    case durable(path: String)
    /// Values are read from this file and cannot be changed, for this reason. What is assigned lasts as long as the
    /// process.
    case readOnly(path: String, reason: String)
    /// Values last as long as the process, for this reason.
    case ephemeral(reason: String)
}

extension SettingsPersistence: CustomStringConvertible {
    /// The persistence in words.
    public var description: String {
        switch self {
        case .durable(let path): "kept in \(path)"
        case .readOnly(let path, let reason): "read from \(path), not to be changed: \(reason)"
        case .ephemeral(let reason): "kept in memory: \(reason)"
        }
    }
}
