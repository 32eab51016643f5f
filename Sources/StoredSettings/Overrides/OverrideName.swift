// SPDX-License-Identifier: Apache-2.0

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
    /// uppercase letters form one word, with a plural s: `maxURLLength` is max, URL, Length, and `userIDs` user, IDs.
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
        let rest = characters[(index + 1)...].prefix { $0.isLowercase }
        return !rest.isEmpty && rest != ["s"]
    }
}

/// The flags or the variables of a setting in one source.
package struct OverrideNames {
    /// The flag with its dashes, or the variable; `nil` for a key without letters and digits.
    package let current: String?
    /// The other names that follow from old keys.
    let old: [String]

    init(of keys: StoredKeys, _ traits: SettingTraits, in source: LayerSource) {
        let (own, name): (String?, (String) -> String?) =
            switch source {
            case .commandLine:
                (traits.flag.map { "--" + $0 }, { "--" + OverrideName.flag(forKey: $0) })
            case .environment(_, let prefix, _):
                (traits.environmentVariable, { OverrideName.variable(forKey: $0, prefix: prefix) })
            default:
                (nil, { _ in nil })
            }
        let current = own ?? name(keys.current)
        // A flag of dashes alone ends the flags.
        self.current = current == "--" ? nil : current
        old = keys.old.compactMap(name).filter { $0 != "--" }
    }

    /// All names, those that take precedence first.
    var all: [String] { (current.map { [$0] } ?? []) + old }
}
