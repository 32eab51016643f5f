// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

extension SettingsCatalog {
    /// Returns a settings file with all settings of a suite, their defaults, and their help as comments.
    ///
    /// A setting without a default, and a secret one, is a comment. The file is valid as it is, and ``jsonSchema(for:)`` accepts
    /// it.
    ///
    /// - Parameters:
    ///   - suite: The suite; `nil` for the suite of the first setting.
    ///   - schema: The value of the member `"$schema"`: the path or the URL of the schema; `nil` for none.
    ///   - hasComments: Whether the file has comments. Without them, it is strict JSON.
    /// - Returns: The file.
    public func sampleFile(
        for suite: SettingsSuite? = nil,
        schema: String? = nil,
        hasComments: Bool = true
    ) -> String {
        var entries: [SampleEntry] = []
        if let schema {
            entries.append(SampleEntry(comments: [], name: "$schema", value: .string(schema), isActive: true))
        }
        entries += settings(of: suite).map(SampleEntry.init)
        if !hasComments { entries = entries.filter(\.isActive) }
        return text(of: entries, hasComments: hasComments)
    }

    private func text(of entries: [SampleEntry], hasComments: Bool) -> String {
        let last = entries.lastIndex(where: \.isActive)
        let blocks = entries.indices.map { entries[$0].text(isLast: $0 == last, hasComments: hasComments) }
        return blocks.isEmpty ? "{}\n" : "{\n" + blocks.joined(separator: hasComments ? "\n" : "") + "}\n"
    }

    /// Returns a settings file with some values of a suite, and the help of their settings as comments.
    ///
    /// Values of keys that no setting has are at the end.
    func file(with values: [String: StoredValue], for suite: SettingsSuite) -> String {
        let known = settings(of: suite).compactMap { setting in values[setting.key].map { (setting.key, $0, setting) } }
        let others = values.keys.filter { key in !known.contains { $0.0 == key } }.sorted()
        let entries =
            known.map { key, value, setting in
                SampleEntry(comments: SampleEntry(setting).comments, name: key, value: value, isActive: true)
            } + others.map { SampleEntry(comments: [], name: $0, value: values[$0] ?? .null, isActive: true) }
        return text(of: entries, hasComments: true)
    }
}

/// A member of a sample file.
private struct SampleEntry {
    var comments: [String]
    var name: String
    var value: StoredValue
    /// Whether the member is not a comment itself.
    var isActive: Bool
}

extension SampleEntry {
    init(_ setting: AnySetting) {
        let help = setting.help
        comments = [help.summary, help.discussion].filter { !$0.isEmpty }
        var facts = [
            setting.choices?.joined(separator: ", ") ?? setting.validValues, help.unit.isEmpty ? nil : help.unit,
        ]
        if setting.traits.requiresRestart { facts.append("takes effect after a restart") }
        if let deprecation = setting.traits.deprecation { facts.append("deprecated: \(deprecation)") }
        let line = facts.compactMap { $0 }.joined(separator: "; ")
        if !line.isEmpty { comments.append(line) }
        name = setting.key
        let value = setting.isSecret ? nil : setting.base.defaultStoredValue.map(setting.base.written)
        self.value = value ?? .null
        isActive = value != nil
    }

    func text(isLast: Bool, hasComments: Bool) -> String {
        // A line break in a help must not end its comment.
        let lines = comments.flatMap { $0.split(whereSeparator: \.isNewline) }.map { "  // \($0)\n" }
        let separator = isLast ? "" : ","
        let nameText = StoredValue.string(name).jsonText
        let member =
            isActive ? "  \(nameText): \(prettyValue)\(separator)\n" : "  // \(nameText): \u{2026}\n"
        return (hasComments ? lines.joined() : "") + member
    }

    /// The value as JSON on several lines, indented as a member.
    private var prettyValue: String {
        do {
            let json = try JSONWriter.prettyText(of: ["": value])
            let lines = String(decoding: json, as: UTF8.self).split(separator: "\n")
            // The braces, and the indentation and the name of the only member.
            let text = lines.dropFirst().dropLast().joined(separator: "\n")
            return String(text.dropFirst(#"  "": "#.count))
        } catch {
            return "null"
        }
    }
}
