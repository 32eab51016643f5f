// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The overrides of a suite, in order of precedence.
final class OverrideList: Sendable {
    let overrides: [SettingsOverride]
    private let reported = Locked<Set<String>>([])

    /// Creates a list; `nil` when it would be empty.
    init?(_ overrides: [SettingsOverride]) {
        guard !overrides.isEmpty else { return nil }
        self.overrides = [SettingsLayer.commandLine, .environment]
            .flatMap { layer in
                overrides.filter { $0.layer == layer }
            }
    }

    /// Records an error as reported, so that several settings with one key report it once.
    ///
    /// - Returns: Whether the same error was not recorded before.
    func isFirst(_ error: SettingsError) -> Bool {
        reported.withLock { $0.insert(error.message).inserted }
    }
}

extension OverrideList? {
    /// Whether both lists result in the same values.
    func isLike(_ other: OverrideList?) -> Bool {
        self === other || self?.overrides == other?.overrides
    }
}

/// The value of a setting in one override, or the reason why the override cannot be used.
struct OverrideReading<Value: Sendable>: Sendable {
    let layer: SettingsLayer
    /// The name of the flag or the variable.
    let source: String
    let result: Result<Value, SettingsError>
}

extension Sequence {
    /// Returns the errors of the overrides above the one that is used.
    func problems<Value>() -> [SettingsError] where Element == OverrideReading<Value> {
        var errors: [SettingsError] = []
        for override in self {
            guard case .failure(let error) = override.result else { break }
            errors.append(error)
        }
        return errors
    }
}

/// A cache for the values of a setting in the overrides, which do not change while the process runs.
final class OverrideCache<Value: Sendable>: Sendable {
    private let known = Locked<[OverrideReading<Value>]?>(nil)

    /// Returns the readings, highest precedence first.
    ///
    /// - Parameter read: Reads the overrides. It is called under no lock, and by several threads if they read first.
    /// - Returns: The readings, and whether this call has stored them.
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

/// The names of a key on the command line and in the environment.
enum OverrideName {
    /// Returns the flag of a key, without the dashes: `log-level` for `logLevel`, `log.level` and `log_level`.
    ///
    /// The name is empty for a key without letters and digits.
    static func flag(forKey key: String) -> String {
        words(of: key).joined(separator: "-").lowercased()
    }

    /// Returns the environment variable of a key, such as `ACME_LOG_LEVEL`; `nil` for a key without letters and digits.
    static func variable(forKey key: String, prefix: String) -> String? {
        let words = words(of: key)
        return words.isEmpty ? nil : prefix + words.joined(separator: "_").uppercased()
    }

    /// Returns the words of a key.
    ///
    /// A word ends before an uppercase letter, and at any character that is neither a letter nor a digit. Consecutive
    /// uppercase letters form one word: `maxURLLength` is max, URL, Length.
    private static func words(of key: String) -> [String] {
        let characters = Array(key)
        var words: [String] = []
        var word = ""
        for (index, character) in characters.enumerated() {
            let isPart = character.isLetter || character.isNumber
            if !isPart || beginsWord(at: index, in: characters) {
                words.append(word)
                word = ""
            }
            if isPart { word.append(character) }
        }
        return (words + [word]).filter { !$0.isEmpty }
    }

    private static func beginsWord(at index: Int, in characters: [Character]) -> Bool {
        guard index > 0, characters[index].isUppercase else { return false }
        if !characters[index - 1].isUppercase { return true }
        return index + 1 < characters.count && characters[index + 1].isLowercase
    }
}
