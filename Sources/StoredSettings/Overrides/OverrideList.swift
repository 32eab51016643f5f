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
final class OverrideCache<Value: Sendable>: Sendable {
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

/// What a key is called where the values of keys are given from outside.
enum OverrideName {
    /// The name of a key's flag, without the dashes: `log-level` for `logLevel`, `log.level` and `log_level`.
    ///
    /// Empty for a key without a letter or a digit.
    static func flag(forKey key: String) -> String {
        words(of: key).joined(separator: "-").lowercased()
    }

    /// The name of a key's variable: `ACME_LOG_LEVEL`.
    ///
    /// `nil` for a key without a letter or a digit.
    static func variable(forKey key: String, prefix: String) -> String? {
        let words = words(of: key)
        return words.isEmpty ? nil : prefix + words.joined(separator: "_").uppercased()
    }

    /// The words of a key: they end where a capital begins the next, and at all that is neither letter nor digit.
    ///
    /// Capitals in a row are one word: `maxURLLength` is max, URL, Length.
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
