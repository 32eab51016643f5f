// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Keys-and-declarations.md, "Help and traits are values of the declaration".

/// Properties of a setting beyond its type and its default.
///
/// One trait, or several in an array:
///
/// ```swift
/// @DefaultStorage(key: "port", traits: .requiresRestart) var port = 8080
/// @DefaultStorage(key: "maxConnections", traits: [.renamed(from: "max_conn"), .flag("connections")]) var maxConnections = 100
/// @DefaultStorageOptional(key: "apiToken", traits: .secret) var apiToken: String?
/// ```
///
/// They cost nothing when the setting is read.
public struct SettingTraits: Sendable, Hashable, ExpressibleByArrayLiteral {
    /// Whether the value is secret: no text that the library makes for people contains it.
    ///
    /// That of a structure with secret members is, too; the other members are not.
    public var isSecret: Bool { isWholeSecret || members.contains(where: \.isSecret) }
    /// Whether all of the value is secret.
    private(set) var isWholeSecret = false
    /// Whether a change takes effect only when the program is started again.
    package private(set) var requiresRestart = false
    /// Whether a structure is one value, which takes no member from another source.
    private(set) var isWhole = false
    /// `nil` if there are none, as in most declarations.
    private var shared: Shared?

    /// The traits that have strings.
    private struct Names: Hashable {
        var oldKeys: [String] = []
        var deprecation: String?
        var flag: String?
        var environmentVariable: String?
        var members: [Member] = []
    }

    /// One reference, so that a declaration copies no strings.
    private indirect enum Shared: Hashable {
        case names(Names)
    }

    private var names: Names? {
        if case .names(let names) = shared { names } else { nil }
    }

    /// Creates the traits of all elements; of two names of one kind, the last is used.
    public init(arrayLiteral elements: SettingTraits...) {
        for element in elements {
            isWholeSecret = isWholeSecret || element.isWholeSecret
            requiresRestart = requiresRestart || element.requiresRestart
            isWhole = isWhole || element.isWhole
            guard let new = element.names else { continue }
            let known = names ?? Names()
            let all = Names(
                oldKeys: known.oldKeys + new.oldKeys,
                deprecation: new.deprecation ?? known.deprecation,
                flag: new.flag ?? known.flag,
                environmentVariable: new.environmentVariable ?? known.environmentVariable,
                members: known.members + new.members
            )
            shared = .names(all)
        }
    }

    private init(_ names: Names) {
        shared = .names(names)
    }

    /// The traits of a setting in a group, whose names have the prefix of the group.
    func inGroup(_ group: SuiteGroup) -> SettingTraits {
        guard var names else { return self }
        names.oldKeys = names.oldKeys.map(group.key)
        // The name of a group can consist of characters that are in no flag.
        let prefix = [OverrideName.flag(forKey: group.prefix)].filter { !$0.isEmpty }
        names.flag = names.flag.map { (prefix + [$0]).joined(separator: "-") }
        names.environmentVariable = names.environmentVariable.map {
            (OverrideName.variable(forKey: group.prefix, prefix: "").map { $0 + "_" } ?? "") + $0
        }
        var traits = self
        traits.shared = .names(names)
        return traits
    }

    /// The keys that the setting had before, newest first.
    package var oldKeys: [String] { names?.oldKeys ?? [] }

    /// What to use instead of a deprecated setting; `nil` for one that is not deprecated.
    package var deprecation: String? { names?.deprecation }

    /// The name of the flag, without dashes; `nil` for the one that is derived from the key.
    package var flag: String? { names?.flag }

    /// The name of the environment variable; `nil` for the one that is derived from the key.
    package var environmentVariable: String? { names?.environmentVariable }

    /// What is declared about members of a structure.
    package var members: [Member] { names?.members ?? [] }

    /// The text in place of a secret value.
    package static let redactedText = "••••"
}

extension SettingTraits {
    /// The value is secret: explanations and catalogs show `••••` instead.
    public static var secret: SettingTraits {
        var traits: SettingTraits = []
        traits.isWholeSecret = true
        return traits
    }

    /// The program uses a change only after a restart, so explanations name changes that are not in use yet.
    public static var requiresRestart: SettingTraits {
        var traits: SettingTraits = []
        traits.requiresRestart = true
        return traits
    }

    /// A structure comes as a whole from the highest source that has it, and takes no member from another one or from the
    /// default.
    ///
    /// For a structure in which one member decides what the others mean, such as the kind of a server. Dictionaries, lists
    /// and enums come as a whole anyway.
    public static var whole: SettingTraits {
        var traits: SettingTraits = []
        traits.isWhole = true
        return traits
    }

    /// The setting had another key before.
    ///
    /// While nothing is stored under the new key, the value of the old one is used. The first write stores the value under the
    /// new key and removes the old one, in one change; a reset removes both. If values are stored under both keys, the one
    /// under the new key is used, and that is reported. No other setting of the suite may use an old key.
    ///
    /// The flags and the variables that follow from the old keys are accepted as well. Each that is used is reported, once.
    ///
    /// - Parameter keys: The old keys, newest first.
    /// - Returns: The trait.
    public static func renamed(from keys: String...) -> SettingTraits {
        SettingTraits(Names(oldKeys: keys))
    }

    /// The setting should no longer be used; ``SettingsCatalog/validate(unknownKeys:)`` reports a value that is set.
    ///
    /// - Parameter message: What to use instead, in one sentence.
    /// - Returns: The trait.
    public static func deprecated(_ message: String) -> SettingTraits {
        SettingTraits(Names(deprecation: message))
    }

    /// The setting has this flag on the command line instead of the one that is derived from its key.
    ///
    /// In a ``SettingsSuite/group(_:)``, the name of the group precedes it: `db-listen-port`.
    ///
    /// - Parameter name: The name, such as `listen-port`. Dashes at its beginning are left out.
    /// - Returns: The trait.
    public static func flag(_ name: String) -> SettingTraits {
        SettingTraits(Names(flag: String(name.drop { $0 == "-" })))
    }

    /// The setting has this environment variable instead of the one that is derived from its key.
    ///
    /// In a ``SettingsSuite/group(_:)``, the name of the group precedes it: `DB_PORT`.
    ///
    /// - Parameter name: The whole name, such as `PORT`. The prefix of the suite's source is not added.
    /// - Returns: The trait.
    public static func environment(_ name: String) -> SettingTraits {
        SettingTraits(Names(environmentVariable: name))
    }
}

extension SettingTraits {
    /// What is declared about a member of a structure, beyond its type and its default.
    public struct Member: Sendable, Hashable {
        /// The names that lead to the member, joined by periods.
        let name: String
        package let help: SettingHelp
        package let isSecret: Bool
        let oldNames: [String]
        /// Throws if a stored value of the member is not valid; `nil` where every value is.
        let check: (@Sendable (StoredValue) throws -> Void)?
        package let valid: ValidDescription?

        /// Describes a member.
        ///
        /// - Parameters:
        ///   - name: The name with which it is stored; of a member of a member, both names: `pool.size`.
        ///   - help: What the member is for.
        ///   - isSecret: Whether no text for people contains the value.
        ///   - oldNames: The names that the member had before, newest first, which are read while it has none under its own.
        public init(_ name: String, help: SettingHelp = "", isSecret: Bool = false, renamedFrom oldNames: String...) {
            (self.name, self.help, self.isSecret, self.oldNames) = (name, help, isSecret, oldNames)
            (check, valid) = (nil, nil)
        }

        /// Describes a member and its valid values.
        ///
        /// Other values are neither stored nor returned.
        ///
        /// - Parameters:
        ///   - name: The name with which it is stored; of a member of a member, both names: `pool.size`.
        ///   - valid: The valid values, apart from null. They have the type of the member.
        ///   - help: What the member is for.
        ///   - isSecret: Whether no text for people contains the value.
        ///   - oldNames: The names that the member had before, newest first, which are read while it has none under its own.
        public init<Value: StoredValueConvertible>(
            _ name: String,
            in valid: any ValidValues<Value> & Sendable,
            help: SettingHelp = "",
            isSecret: Bool = false,
            renamedFrom oldNames: String...
        ) {
            (self.name, self.help, self.isSecret, self.oldNames) = (name, help, isSecret, oldNames)
            let description = ValidDescription(valid, SettingConversion<Value>.convertible())
            self.valid = description
            check = { stored in
                guard valid.contains(try Value(storedValue: stored)) else { throw description.error }
            }
        }

        var path: [String] { name.split(separator: ".").map(String.init) }

        /// Returns whether both declare the same.
        public static func == (left: Member, right: Member) -> Bool {
            left.name == right.name && left.help == right.help && left.isSecret == right.isSecret
                && left.oldNames == right.oldNames && left.valid?.text == right.valid?.text
        }

        /// Hashes the name.
        public func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }

    /// Members of a structure have help, valid values, secrets or old names of their own.
    ///
    /// ```swift
    /// @DefaultStorage(key: "limits", traits: .members(.init("burst", in: 1...100, help: "Requests at once."))) var limits = Limits()
    /// ```
    ///
    /// A value that is not valid counts as one that the type of the member rejects: it is reported with its place, and the member of the
    /// next source is used.
    ///
    /// - Parameter members: The members.
    /// - Returns: The trait.
    public static func members(_ members: Member...) -> SettingTraits {
        SettingTraits(Names(members: members))
    }
}

extension [SettingTraits.Member] {
    /// Throws ``SettingsError`` if a member of a stored structure is not valid.
    func check(_ stored: StoredValue) throws {
        for member in self {
            guard let check = member.check, let part = stored.part(at: member.path), part != .null else { continue }
            do {
                try check(part)
            } catch {
                var error = SettingsError.wrapping(error, as: .validationFailed)
                error.path = member.path.map(SettingsError.PathComponent.key)
                throw error
            }
        }
    }

    /// Returns a stored structure with the present names of its members.
    func renamed(in stored: StoredValue) -> StoredValue {
        reduce(stored) { stored, member in
            guard !member.oldNames.isEmpty, stored.part(at: member.path) == nil else { return stored }
            let outer = [String](member.path.dropLast())
            for old in member.oldNames {
                guard let value = stored.part(at: outer + [old]), let rest = stored.removing((outer + [old])[...])
                else { continue }
                return value.nested(at: member.path)
                    .merged(over: rest, Set((0..<member.path.count).map { [String](member.path.prefix($0)) }))
            }
            return stored
        }
    }

    /// What is declared about the member with some names.
    func member(at path: [String]) -> SettingTraits.Member? { first { $0.path == path } }

    /// Whether a member, a member of it, or a structure around it is secret.
    func isSecret(at path: [String]) -> Bool {
        contains { $0.isSecret && ($0.path.starts(with: path) || path.starts(with: $0.path)) }
    }
}

/// The description of a setting for people.
package struct SettingMetadata: Equatable {
    let help: SettingHelp
    let traits: SettingTraits

    package init(help: SettingHelp, traits: SettingTraits) {
        (self.help, self.traits) = (help, traits)
    }
}
