// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import StoredSettings

/// Stores URLs in the formats of `UserDefaults`, so that `url(forKey:)` reads them.
///
/// A file URL is stored as its path, and any other URL as an archive.
///
/// ```swift
/// @DefaultStorage(key: "home", as: UserDefaultsURL()) var home = URL(string: "https://example.org")!
/// ```
///
/// The whole URL is preserved. On Linux, `UserDefaults.set(_:forKey:)` itself stores only the path of a URL, which is
/// then read as a file path. A string with a scheme is read as a URL. Without this bridge, a URL is stored as a string,
/// which `string(forKey:)` reads and `url(forKey:)` does not, and a bare path is read as a URL without a scheme.
public struct UserDefaultsURL: StoredValueBridge {
    /// Creates the bridge.
    public init() {}

    /// Reads a path, a URL string, or an archive of a URL.
    public func value(from storedValue: StoredValue) throws -> URL {
        switch storedValue {
        case .string(let text) where text.hasPrefix("/"): return URL(fileURLWithPath: text)
        case .string(let text) where text == "~" || text.hasPrefix("~/"):
            return URL(fileURLWithPath: NSString(string: text).expandingTildeInPath)
        case .data(let data): return try URL(storedValue: KeyedArchive(data).plainValue())
        default: return try URL(storedValue: storedValue)
        }
    }

    /// Returns a path as `StoredValue.string(_:)`, or an archive as `StoredValue.data(_:)`.
    ///
    /// - Throws: `SettingsError` for a URL that would be read as another URL.
    public func storedValue(from value: URL) throws -> StoredValue {
        let path = StoredValue.string(value.path)
        if value.isFileURL, try self.value(from: path) == value { return path }
        do {
            let archive = try NSKeyedArchiver.archivedData(withRootObject: value as NSURL, requiringSecureCoding: true)
            guard try self.value(from: .data(archive)) == value else { return try value.storedValue() }
            return .data(archive)
        } catch is SettingsError {
            return try value.storedValue()
        }
    }
}
