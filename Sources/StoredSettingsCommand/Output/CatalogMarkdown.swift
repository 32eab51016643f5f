// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

extension SettingsCatalog {
    /// Returns a table of all settings in Markdown, for the documentation of a program.
    ///
    /// It contains key, type, default, flag and variable if the suite has such sources, and help.
    public func markdown() -> String {
        suites.map { suite in
            let settings = filter { $0.suite == suite }
            let sources = suite.sources.filter { $0.hasFlags || $0.hasVariables }
            let head = ["Key", "Type", "Default"] + sources.map { $0.hasFlags ? "Flag" : "Variable" } + ["Description"]
            let rows = settings.map { setting in
                [setting.key.code, setting.valueForm, setting.defaultText?.code ?? ""]
                    + sources.map { setting.names(in: $0).current?.code ?? "" } + [setting.helpCell]
            }
            return ([head, head.map { _ in "---" }] + rows).map { "| " + $0.joined(separator: " | ") + " |\n" }.joined()
        }
        .joined(separator: "\n")
    }
}

extension AnySetting {
    /// The type, or the choices and the range.
    fileprivate var valueForm: String {
        if let choices { return choices.map(\.code).joined(separator: ", ") }
        let type = (base.schemaType.map { "\($0)" } ?? typeName).code
        return validValues.map { "\(type) in \($0.code)" } ?? type
    }

    /// The help, and the traits that matter to a person, in one cell of a table.
    fileprivate var helpCell: String {
        var sentences = [help.sentences]
        if isSecret { sentences.append("Secret.") }
        if traits.requiresRestart { sentences.append("Takes effect after a restart.") }
        if let deprecation = traits.deprecation { sentences.append("Deprecated: \(deprecation)") }
        return sentences.filter { !$0.isEmpty }.joined(separator: " ").inCell
    }
}

extension String {
    /// The string as code in a cell of a table.
    fileprivate var code: String {
        let fence = contains("`") ? "``" : "`"
        return isEmpty ? "" : "\(fence)\(contains("`") ? " \(self) " : self)\(fence)".inCell
    }

    fileprivate var inCell: String {
        var text = ""
        for character in self {
            switch character {
            case "|": text += "\\|"
            case _ where character.isNewline: text += " "
            default: text.append(character)
            }
        }
        return text
    }
}
