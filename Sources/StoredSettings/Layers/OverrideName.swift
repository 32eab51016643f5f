// SPDX-License-Identifier: Apache-2.0

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
