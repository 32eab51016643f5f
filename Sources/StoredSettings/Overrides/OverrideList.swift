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
    /// The name to use instead, if the source is a name that follows from an old key.
    var newSource: String?
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
    private struct State {
        var readings: [OverrideReading<Value>]?
        var isReported = false
    }

    private let state = Locked(State())

    /// Returns the readings, highest precedence first.
    ///
    /// - Parameters:
    ///   - isReporting: Whether the caller reports the errors if they are not reported yet.
    ///   - read: Reads the overrides. It is called under no lock, and by several threads if they read first.
    /// - Returns: The readings, and whether the caller has to report their errors.
    func readings(
        isReporting: Bool,
        _ read: () -> [OverrideReading<Value>]
    ) -> (readings: [OverrideReading<Value>], isNew: Bool) {
        let known = state.withLock { $0.isReported || !isReporting ? $0.readings : nil }
        if let known { return (known, false) }
        let new = read()
        return state.withLock { state in
            let readings = state.readings ?? new
            state.readings = readings
            defer { if isReporting { state.isReported = true } }
            return (readings, isReporting && !state.isReported)
        }
    }
}

/// The flags or the variables of a setting in one override.
struct OverrideNames {
    /// The flag with its dashes, or the variable; `nil` for a key without letters and digits.
    let current: String?
    /// The other names that follow from old keys.
    let old: [String]

    init(of keys: StoredKeys, _ traits: SettingTraits, in override: SettingsOverride) {
        let (own, name): (String?, (String) -> String?) =
            switch override.source {
            case .commandLine:
                (traits.flag.map { "--" + $0 }, { "--" + OverrideName.flag(forKey: $0) })
            case .environment(_, let prefix):
                (traits.environmentVariable, { OverrideName.variable(forKey: $0, prefix: prefix) })
            }
        let current = own ?? name(keys.current)
        // A flag of dashes alone ends the flags.
        self.current = current == "--" ? nil : current
        old = keys.old.compactMap(name).filter { $0 != "--" }
    }

    /// All names, those that take precedence first.
    var all: [String] { (current.map { [$0] } ?? []) + old }
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
