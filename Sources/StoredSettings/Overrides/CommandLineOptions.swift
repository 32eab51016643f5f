// SPDX-License-Identifier: Apache-2.0

/// Looks in a program's arguments for the flags of one key.
///
/// It knows nothing of other flags: of `--name --port` it cannot tell whether `--port` is the value of `--name`. So what
/// looks like a flag always is one, and a value that does is given as `--name=--port`.
struct CommandLineOptions {
    /// A flag as it was given.
    struct Occurrence: Equatable {
        /// With its dashes, and without a value.
        let flag: String
        /// `nil` when nothing that may be a value follows.
        var text: String?
        /// Whether the text is the flag's for certain: it follows an equals sign.
        var isAttached = false
        /// Whether it is the flag with `no-` before it.
        var isNegated = false
        /// Whether it is the key after one dash, as `UserDefaults` takes it: what follows is then always its value.
        var isKey = false
    }

    let arguments: [String]

    /// All flags of a key, in order.
    func occurrences(ofKey key: String) -> [Occurrence] {
        guard !key.isEmpty else { return [] }
        let name = OverrideName.flag(forKey: key)
        let flags = (name.isEmpty ? [] : ["--" + name]) + ["-" + key]
        let options = arguments.prefix { $0 != "--" }
        return options.indices.compactMap { index in
            let argument = options[index]
            if !name.isEmpty, let match = Match(argument, "--no-" + name) {
                return Occurrence(
                    flag: "--no-" + name,
                    text: match.text,
                    isAttached: match.text != nil,
                    isNegated: true
                )
            }
            for flag in flags {
                guard let match = Match(argument, flag) else { continue }
                let isKey = !flag.hasPrefix("--")
                if let text = match.text { return Occurrence(flag: flag, text: text, isAttached: true, isKey: isKey) }
                let next = options.dropFirst(index + 1).first.flatMap { Self.isFlag($0) ? nil : $0 }
                return Occurrence(flag: flag, text: next, isKey: isKey)
            }
            return nil
        }
    }

    /// An argument that is a flag, and the text that is attached to it with an equals sign.
    private struct Match {
        var text: String?

        /// `nil` for an argument that is not this flag.
        init?(_ argument: String, _ flag: String) {
            guard argument != flag else { return }
            guard argument.hasPrefix(flag + "=") else { return nil }
            text = String(argument.dropFirst(flag.count + 1))
        }
    }

    /// Whether an argument looks like a flag, which a lone dash and a number below zero do not.
    private static func isFlag(_ argument: String) -> Bool {
        guard argument.hasPrefix("-"), argument != "-", argument != "-inf" else { return false }
        let rest = argument.dropFirst().drop { $0 == "." }
        return rest.first?.isASCII != true || rest.first?.isNumber != true
    }
}
