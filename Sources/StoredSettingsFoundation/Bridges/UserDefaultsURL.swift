// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import StoredSettings

/// Stores URLs in the forms that `UserDefaults` has for them, so that `url(forKey:)` reads them: the path of a file, and an
/// archive of any other URL.
///
/// ```swift
/// @DefaultStorage(key: "home", as: UserDefaultsURL()) var home = URL(string: "https://example.org")!
/// ```
///
/// A URL is kept whole. `UserDefaults.set(_:forKey:)` itself keeps only the path on Linux, and what it has lost is lost: the
/// path is then read as a file's. Text with a scheme is read as it is. Without this bridge a URL is stored as its text, which
/// `string(forKey:)` reads and `url(forKey:)` does not; and a bare path is read as a URL that has no scheme.
public struct UserDefaultsURL: StoredValueBridge {
    /// Creates the bridge.
    public init() {}

    /// Reads a path, the text of a URL, or an archive of one.
    public func value(from storedValue: StoredValue) throws -> URL {
        switch storedValue {
        case .string(let text) where text.hasPrefix("/"): return URL(fileURLWithPath: text)
        case .string(let text) where text == "~" || text.hasPrefix("~/"):
            return URL(fileURLWithPath: NSString(string: text).expandingTildeInPath)
        case .data(let data): return try URL(storedValue: KeyedArchive(data).plainValue())
        default: return try URL(storedValue: storedValue)
        }
    }

    /// A path as `StoredValue.string(_:)`, or an archive as `StoredValue.data(_:)`.
    ///
    /// - Throws: `SettingsError` for a URL that would come back as another.
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
