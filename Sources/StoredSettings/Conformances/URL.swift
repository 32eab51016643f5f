// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension URL: StoredValueConvertible {
    /// Reads the text of a URL, or a dictionary of `base` and `relative` text.
    public init(storedValue: StoredValue) throws {
        switch storedValue {
        case .string(let text):
            guard let url = URL(string: text) else { throw Self.invalidText }
            self = url
        case .dictionary:
            let base = try Self.text(under: "base", of: storedValue)
            let relative = try Self.text(under: "relative", of: storedValue)
            let baseURL = try SettingsError.at(.key("base")) { try URL(storedValue: .string(base)) }
            self = try SettingsError.at(.key("relative")) {
                guard let url = URL(string: relative, relativeTo: baseURL) else { throw Self.invalidText }
                return url
            }
        default:
            throw SettingsError.typeMismatch(expected: "a URL", found: storedValue)
        }
    }

    /// The text of the URL, or where it is relative to another one, a dictionary of `base` and `relative` text.
    ///
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` for a URL whose text is not read as itself again.
    public func storedValue() throws -> StoredValue {
        let storedValue: StoredValue =
            if let baseURL {
                ["base": .string(baseURL.absoluteString), "relative": .string(relativeString)]
            } else {
                .string(absoluteString)
            }
        // Foundation makes URLs in more ways than from text. One that would come back as another is not kept at all.
        guard let again = try readable(storedValue), again == self else {
            throw SettingsError.unstorable("the text of the URL does not read as the same URL again")
        }
        return storedValue
    }

    private func readable(_ storedValue: StoredValue) throws -> URL? {
        do {
            return try URL(storedValue: storedValue)
        } catch is SettingsError {
            return nil
        }
    }

    private static func text(under name: String, of storedValue: StoredValue) throws -> String {
        guard let value = storedValue[name] else {
            throw SettingsError.invalidValue("expected a URL's base and relative text, found no '\(name)'")
        }
        return try SettingsError.at(.key(name)) { try String(storedValue: value) }
    }

    private static var invalidText: SettingsError { .invalidValue("the text is not a URL") }
}
