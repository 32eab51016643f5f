// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Overrides-and-migrations.md, "The variables of a Kubernetes Service are no settings".

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

    /// The name of a member alone.
    init(member name: String?) {
        (current, old) = (name, [])
    }

    /// The flag or the variable of a member, such as `--rate-limit.burst` and `ACME_RATE_LIMIT__BURST`.
    func member(_ path: [String]) -> String? {
        guard let current else { return nil }
        let isFlag = current.hasPrefix("--")
        let names = path.map {
            isFlag ? OverrideName.flag(forKey: $0) : OverrideName.variable(forKey: $0, prefix: "") ?? ""
        }
        return names.contains("") ? nil : ([current] + names).joined(separator: isFlag ? "." : "__")
    }

    /// All names, those that take precedence first.
    var all: [String] { (current.map { [$0] } ?? []) + old }
}

// MARK: - Variables of others

/// The variables that a kubelet writes for each Service, such as `ACME_PORT=tcp://10.96.12.7:80` for one named `acme`.
///
/// Each port has four variables that fit together, such as `ACME_PORT_80_TCP_ADDR`. Another variable of the Service is
/// recognized by a value that follows from those of a port.
enum ServiceVariables {
    /// Whether a kubelet wrote a variable, out of the given ones or those of the process.
    static func contains(_ name: String, in variables: [String: String]?) -> Bool {
        // Most names need no search.
        guard name.contains("_PORT") || name.hasSuffix("_SERVICE_HOST") else { return false }
        return names(in: variables ?? SystemCalls.environment()).contains(name)
    }

    /// Returns the names of the variables that a kubelet wrote.
    static func names(in variables: [String: String]) -> Set<String> {
        var expected: [String: Set<String>] = [:]
        for (name, address) in variables where name.hasSuffix("_ADDR") && isAddress(address) {
            let link = String(name.dropLast("_ADDR".count))
            guard let port = variables[link + "_PORT"], let transport = variables[link + "_PROTO"] else { continue }
            let host = address.contains(":") ? "://[\(address)]:" : "://\(address):"
            let (url, suffix) = (transport + host + port, "_PORT_\(port)_\(transport.uppercased())")
            guard UInt16(port) != nil, ["tcp", "udp", "sctp"].contains(transport), link.hasSuffix(suffix),
                variables[link] == url
            else { continue }
            let service = link.dropLast(suffix.count)
            var own = [name: address, link + "_PORT": port, link + "_PROTO": transport, link: url]
            own["\(service)_SERVICE_HOST"] = address
            own["\(service)_PORT"] = url
            // The name of a port follows.
            own["\(service)_SERVICE_PORT_"] = port
            // Without a name, it is the first port, which the URL shows, unless the Pod replaces that variable.
            let first = variables["\(service)_PORT"] ?? url
            if first == url || !first.contains(host) { own["\(service)_SERVICE_PORT"] = port }
            for (name, value) in own { expected[name, default: []].insert(value) }
        }
        let found = variables.filter { name, value in
            let beginnings = name.indices.filter { name[$0] == "_" }.map { String(name[...$0]) }
            return ([name] + beginnings).contains { expected[$0]?.contains(value) == true }
        }
        return Set(found.keys)
    }

    private static func isAddress(_ text: String) -> Bool {
        let numbers = text.split(separator: ".", omittingEmptySubsequences: false)
        return text.contains(":")
            ? text.allSatisfy { $0.isHexDigit || ":.".contains($0) }
            : numbers.count == 4 && numbers.allSatisfy { UInt8($0) != nil }
    }
}
