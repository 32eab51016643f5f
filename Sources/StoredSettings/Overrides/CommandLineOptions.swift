// SPDX-License-Identifier: Apache-2.0

/// The command-line arguments of a program, searched for the flags of one key.
///
/// The flags of other keys are unknown here: in `--name --port`, `--port` could be the value of `--name`. So an
/// argument that looks like a flag always counts as a flag. Such a value must be written as `--name=--port`.
struct CommandLineOptions {
    /// One occurrence of a flag.
    struct Occurrence: Equatable {
        /// The flag with its dashes, without a value.
        let flag: String
        /// The value; `nil` when no argument follows that can be a value.
        var text: String?
        /// Whether the value follows an equals sign, so that it certainly belongs to the flag.
        var isAttached = false
        /// Whether this is the negated flag: `--no-` and the name.
        var isNegated = false
        /// Whether the flag is the key after one dash, as for `UserDefaults`.
        ///
        /// The text is then its value, even for a Boolean.
        var isKey = false
    }

    let arguments: [String]

    /// Returns all flags of a key, in order.
    ///
    /// The key itself after two dashes is a flag as well, because people see the key in files and messages.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - flag: The name of its flag, without dashes; `nil` for the one that is derived from the key.
    ///   - isMember: Whether the key is that of a setting and the names of a member.
    /// - Returns: The flags.
    func occurrences(ofKey key: String, flag: String? = nil, isMember: Bool = false) -> [Occurrence] {
        guard !key.isEmpty else { return [] }
        let name = flag ?? OverrideName.flag(forKey: key)
        let long = [name] + ((flag == nil || isMember) && key != name ? [key] : [])
        let negated = "--no-" + name
        let flags = (name.isEmpty ? [] : [negated]) + long.filter { !$0.isEmpty }.map { "--" + $0 } + ["-" + key]
        let options = arguments.prefix { $0 != "--" }
        return options.indices.compactMap { index in
            for flag in flags {
                guard let match = Match(options[index], flag) else { continue }
                let next = options.dropFirst(index + 1).first.flatMap { Self.isFlag($0) ? nil : $0 }
                return Occurrence(
                    flag: flag,
                    text: match.text ?? (flag == negated ? nil : next),
                    isAttached: match.text != nil,
                    isNegated: flag == negated,
                    isKey: !flag.hasPrefix("--")
                )
            }
            return nil
        }
    }

    /// An argument that is a flag, with the value after its equals sign.
    private struct Match {
        var text: String?

        /// Creates a match; `nil` when the argument is not this flag.
        init?(_ argument: String, _ flag: String) {
            guard argument != flag else { return }
            // A key can contain an equals sign.
            guard let sign = argument.signs.first(where: { argument[..<$0] == flag }) else { return nil }
            text = String(argument[argument.utf8.index(after: sign)...])
        }
    }

    /// Whether an argument looks like a flag; a lone dash and a negative number do not.
    private static func isFlag(_ argument: String) -> Bool {
        guard argument.hasPrefix("-"), argument != "-", argument != "-inf" else { return false }
        let rest = argument.dropFirst().drop { $0 == "." }
        return rest.first?.isASCII != true || rest.first?.isNumber != true
    }
}

extension String {
    /// The places of all equals signs, even of one that a combining mark follows.
    package var signs: [Index] { utf8.indices.filter { utf8[$0] == UInt8(ascii: "=") } }
}
