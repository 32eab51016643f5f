// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "A catalog is found by reflection".

/// All settings of one or more values, found in their declarations.
///
/// ```swift
/// let catalog = SettingsCatalog(ServerSettings())
/// try catalog.validate()                       // throws one error that lists every problem
/// for setting in catalog { print(setting.key, setting.text ?? "–", setting.help.summary) }
/// try catalog["port"]?.set(text: "9090")
/// ```
///
/// The catalog contains each property with a wrapper of this library, and each ``Setting``, of a struct, a tuple or a class with
/// its superclasses, and of the structs and tuples inside. Objects inside are not searched: pass them as further values.
/// Properties are found by Swift's reflection, which an executable that is built with `-disable-reflection-metadata` does not
/// contain; ``validate(unknownKeys:)`` fails if a value has no settings. They are in the order of their declarations, and two
/// declarations of one setting are one element.
///
/// Creating a catalog takes some microseconds per setting, and reads no values. A catalog may be used from any thread.
public struct SettingsCatalog: Sendable {
    private let settings: [AnySetting]
    /// The errors of declarations that contradict each other.
    let conflicts: [SettingsError]

    /// Finds the settings of some values.
    ///
    /// - Parameter values: Structs and classes with settings.
    public init(_ values: Any...) {
        var search = CatalogSearch()
        for value in values { search.visit(value) }
        search.finish()
        settings = search.settings
        conflicts = search.conflicts
    }

    /// The setting with a key, or the member of a structure with the key of its setting and its own name, as `limits.burst`; `nil` if
    /// there is none.
    ///
    /// If several suites have settings with the key, the first one is returned.
    public subscript(key: String) -> AnySetting? {
        settings.first { $0.key == key } ?? settings.members(key).first
    }

    /// The settings in the store of a suite, or of the first one, each key once.
    package func settings(of suite: SettingsSuite?) -> [AnySetting] {
        guard let suite = suite ?? first?.suite else { return [] }
        var keys: Set<String> = []
        return filter { $0.suite.engine === suite.engine && keys.insert($0.key).inserted }
    }
}

// MARK: - Explaining

extension SettingsCatalog {
    /// Returns where every value comes from, what it hides, and what is wrong, with a line for each setting.
    ///
    /// Secrets are `••••`.
    public func explain() -> String {
        suites.flatMap { suite in
            ["\(suite):"] + filter { $0.suite == suite }.map { "  " + $0.explain() }
        }
        .map { $0 + "\n" }
        .joined()
    }

    /// Returns all settings as an array of objects, in JSON on several lines, for programs.
    ///
    /// An object has the members `key`, `suite`, `value` (as in a settings file), `text` (see ``AnySetting/text``), `layer`, `default`,
    /// `type`, `help`, `valid`, `choices`, `isSecret`, `isSet`, `requiresRestart` and `deprecated`. Secrets are `••••`. It is what the
    /// command `config list --json` prints.
    public func json() throws -> String { try StoredValue.array(map(\.jsonObject)).prettyJSON }
}

// MARK: - Changing several settings
// See Documentation/Decisions/Catalog.md, "Several settings are changed from texts at once".

extension SettingsCatalog {
    /// Stores the values of several texts in one transaction.
    ///
    /// ```swift
    /// try await catalog.set(["softLimit": "60", "hardLimit": "70"])
    /// ```
    ///
    /// Everything is checked before anything is stored. If the settings belong to several stores, there is one transaction for each. If
    /// several suites have a key, the first setting is changed, as with the subscript.
    ///
    /// - Parameter texts: The texts by the keys of the settings, in the form of a flag's value: see ``AnySetting/set(text:)``.
    /// - Throws: ``SettingsValidationError`` that lists every key without a setting, every text that is no valid value, and every
    ///   requirement that would not be met; ``SettingsError`` when the values cannot be saved, with the code
    ///   ``SettingsError/Code/partlyStored`` if those of another store are saved; `CancellationError` when the task is canceled before.
    ///   Otherwise nothing has changed.
    public nonisolated(nonsending) func set(_ texts: [String: String]) async throws {
        try await store(texts) { text, setting, edits in
            do {
                edits.add(try setting.base.converted(text), for: setting)
            } catch let error as SettingsError {
                throw error.ofTypedText(consequence: "nothing is changed")
            }
        }
    }

    /// Stores several values in one transaction, in the form that they have in a settings file.
    ///
    /// - Parameter values: The values by the keys of the settings. A null removes the stored value. A structure may have some of its
    ///   members, which are stored beside the others.
    /// - Throws: The same as ``set(_:)``.
    public nonisolated(nonsending) func set(values: [String: StoredValue]) async throws {
        try await store(values) { value, setting, edits in
            guard value != .null else { return edits.add(setting.base.removal, for: setting) }
            try setting.checkGiven(value, isPart: true)
            edits.add(try setting.base.converted(value), for: setting)
        }
    }

    private nonisolated(nonsending) func store<Given>(
        _ given: [String: Given],
        _ add: (Given, AnySetting, inout SettingsEdits) throws -> Void
    ) async throws {
        var (edits, problems) = (SettingsEdits(), [SettingsError]())
        for (key, value) in given.sorted(by: { $0.key < $1.key }) {
            do {
                guard let setting = self[key] else {
                    throw SettingsError.unknownKey(
                        key,
                        similar: Similarity.best(for: key, among: map(\.base.storedKeys))
                    )
                }
                try setting.suite.checkUnmanaged(setting.base.storedKeys.all)
                try add(value, setting, &edits)
            } catch {
                var error = SettingsError.wrapping(error, as: .invalidValue)
                error.consequence = "nothing is changed"
                problems.append(error)
            }
        }
        if problems.isEmpty { problems = edits.requirementErrors }
        guard problems.isEmpty else { throw SettingsValidationError(problems: problems) }
        do {
            try await edits.store()
        } catch let error as SettingsError where error.code == .requirementNotMet {
            throw SettingsValidationError(problems: [error])
        } catch let error as PartlyStoredError {
            throw SettingsError(error)
        }
    }
}

// MARK: - Requirements

extension SettingsCatalog {
    /// Requires a condition on the values of several settings from now on.
    ///
    /// ```swift
    /// catalog.require("min is at most max", settings.$min, settings.$max) { $0 <= $1 }
    /// ```
    ///
    /// - ``validate(unknownKeys:)`` reports a requirement that is not met.
    /// - A set, an update or a transaction after which it would not be met throws
    ///   ``SettingsError/Code/requirementNotMet``, and changes nothing. Change several values in one transaction if each
    ///   change alone would not meet it.
    /// - If it is not met because a person has edited the file, or another program has changed a value, the last values that
    ///   meet it stay in use, and the stored ones are left as they are. A new process takes those values from the last good
    ///   copy, or uses the defaults. The reporter receives an error, and ``Setting/explain()`` names the problem. The values
    ///   are used as they are if not even the defaults meet the requirement.
    ///
    /// The requirement applies to all settings of the suite with these keys, for as long as the suite is used in this
    /// process. It is checked with the values that the program uses, including overrides.
    ///
    /// - Parameters:
    ///   - requirement: The requirement in words, for errors. It contains no value.
    ///   - settings: Settings of one suite.
    ///   - isMet: Returns whether the values meet the requirement. A value is not accepted if it throws. It uses only its
    ///     parameters: a setting that it reads has another value. It runs at the end of a set and of a transaction, while other
    ///     writers wait, and so do the conversions and validators of the settings.
    public func require<each Value: Sendable>(
        _ requirement: String,
        _ settings: repeat Setting<each Value>,
        isMet: @escaping @Sendable (repeat each Value) throws -> Bool
    ) {
        var keys: [StoredKeys] = []
        var owner: SettingsSuite?
        for setting in repeat each settings {
            let suite = owner ?? setting.suite
            guard setting.suite.engine === suite.engine else {
                return suite.reporter.report(
                    setting.otherSuite(
                        than: "'\(suite.name)' of the requirement '\(requirement)'",
                        consequence: "the requirement is not checked",
                        remedy: "require conditions on settings of one suite"
                    )
                )
            }
            owner = suite
            keys.append(setting.box.key.storedKeys)
        }
        guard let owner else { return }
        // The engine owns the boxes, and must not own itself through the suites of the settings.
        let boxes = (repeat (each settings).box)
        let prepare: @Sendable ((StoredKeys) -> StoredValue?) -> Void = { stored in
            repeat (each boxes).findLastGoodValue(insteadOf: stored((each boxes).key.storedKeys))
        }
        let origins: @Sendable ((StoredKeys) -> StoredValue?) -> [String] = { stored in
            var origins: [String] = []
            for box in repeat each boxes {
                let origin = box.origin(over: stored(box.key.storedKeys))
                if let origin { origins.append("'\(box.key.name)' is \(origin)") }
            }
            return origins
        }
        var files: [LayerFiles] = []
        for box in repeat each boxes { files += [box.layers?.files].compactMap { $0 } }
        let condition = Requirement(requirement, keys, owner, prepare: prepare, origins: origins) { [files] stored in
            var snapshots = files.map(\.snapshot.number)
            var values = (repeat (each boxes).checkedValue(of: stored((each boxes).key.storedKeys)))
            // Values of different versions of a file may be a combination that never was.
            for _ in 0..<LayerList.maximumOfReads {
                let newest = files.map(\.snapshot.number)
                guard newest != snapshots else { break }
                (snapshots, values) = (
                    newest, (repeat (each boxes).checkedValue(of: stored((each boxes).key.storedKeys)))
                )
            }
            return try isMet(repeat each values)
        }
        owner.engine.add(condition)
    }
}

extension Sequence<AnySetting> {
    /// The suites of the settings, each once, in the order of the settings.
    package var suites: [SettingsSuite] {
        reduce(into: []) { suites, setting in
            if !suites.contains(setting.suite) { suites.append(setting.suite) }
        }
    }
}

extension SettingsCatalog: RandomAccessCollection {
    /// The index of the first setting.
    public var startIndex: Int { settings.startIndex }

    /// The index after the last setting.
    public var endIndex: Int { settings.endIndex }

    /// The setting at an index.
    public subscript(index: Int) -> AnySetting { settings[index] }
}

/// A wrapper or another value that declares one setting.
protocol SettingDeclaration {
    associatedtype Declared: CatalogSetting

    var setting: Declared { get }
}

extension DefaultStorage: SettingDeclaration {}
extension DefaultStorageOptional: SettingDeclaration {}

extension Setting: SettingDeclaration {
    var setting: Setting { self }
}

// MARK: - Finding settings

/// A search for the settings of values.
struct CatalogSearch {
    private(set) var settings: [AnySetting] = []
    private(set) var conflicts: [SettingsError] = []
    /// The number of declarations.
    private var found = 0
    /// The number of levels of values inside of values that are searched.
    ///
    /// Settings are not deeper, and the search of a long chain of values must not overflow the stack.
    private static let maximumDepth = 16

    /// Adds the settings of a value, and of the values inside of it.
    ///
    /// Objects inside of it are not searched: other threads may change them, and they may refer to anything.
    mutating func visit(_ value: Any) {
        let name = "\(type(of: value))"
        let before = found
        visit(value, path: name, depth: 0)
        if found == before { conflicts.append(.withoutSettings(name)) }
    }

    /// Finds what contradicts in the declarations of different settings.
    mutating func finish() {
        findSharedOldKeys()
        findNestedKeys()
        for suite in settings.suites {
            for source in suite.sources { findSharedNames(in: source, of: suite) }
        }
    }

    /// Finds flags and variables that would give a value to several settings.
    private mutating func findSharedNames(in source: LayerSource, of suite: SettingsSuite) {
        var owners: [String: AnySetting] = [:]
        for setting in settings where setting.suite == suite {
            for name in setting.allNames(in: source) {
                guard let other = owners.updateValue(setting, forKey: name), other.key != setting.key else {
                    continue
                }
                // A shared key is another error, from which this one follows.
                let (keys, others) = (setting.base.storedKeys.all, other.base.storedKeys.all)
                guard others.allSatisfy({ !keys.contains($0) }) else { continue }
                conflicts.append(.sharedName(name, other, setting))
            }
        }
    }

    /// Finds settings whose values could be in the value of another one.
    private mutating func findNestedKeys() {
        for setting in settings {
            for (object, _) in setting.key.divisions {
                let other = settings.first { $0.key == object && $0.suite.engine === setting.suite.engine }
                if let other { conflicts.append(.keyInValue(setting, of: other)) }
            }
        }
    }

    private mutating func findSharedOldKeys() {
        for (index, setting) in settings.enumerated() {
            for other in settings[..<index]
            where other.suite.engine === setting.suite.engine && other.key != setting.key {
                let (keys, others) = (setting.base.storedKeys, other.base.storedKeys)
                let shared = others.all.first { key in
                    keys.old.contains(key) || others.old.contains(key) && keys.current == key
                }
                if let shared { conflicts.append(.sharedOldKey(shared, other, setting)) }
            }
        }
    }

    private mutating func visit(_ value: Any, path: String, depth: Int) {
        // The type first: a cast of a value that fails also searches for a conversion of the value, which takes as long again.
        if type(of: value) is any SettingDeclaration.Type, let declaration = value as? any SettingDeclaration {
            return add(AnySetting(declaration.setting, declaration: path))
        }
        guard depth < Self.maximumDepth else { return }
        var mirror: Mirror? = Mirror(reflecting: value)
        switch mirror?.displayStyle {
        case .struct, .tuple, .optional: break
        case .class where depth == 0 && !(type(of: value) is any Actor.Type): break
        default: return
        }
        while let current = mirror {
            for child in current.children {
                visit(child.value, path: self.path(path, child.label), depth: depth + 1)
            }
            mirror = current.superclassMirror
        }
    }

    /// The path of a property: the storage of `$port` has the label `_port`.
    private func path(_ path: String, _ label: String?) -> String {
        guard let label, label != "some" else { return path }
        let name = label.hasPrefix("_") ? String(label.dropFirst()) : label
        // The elements of a tuple have the labels `.0`, `.1` and so on.
        return name.hasPrefix(".") ? path + name : "\(path).\(name)"
    }

    private mutating func add(_ setting: AnySetting) {
        found += 1
        guard let known = settings.first(where: { $0.key == setting.key && $0.suite == setting.suite }) else {
            settings.append(setting)
            return
        }
        if let difference = known.difference(from: setting) {
            conflicts.append(.conflictingDeclarations(known, setting, difference))
        }
    }
}

extension AnySetting {
    /// The setting's flags or variables in a source, those of a Boolean that begin with `--no-` included.
    fileprivate func allNames(in source: LayerSource) -> [String] {
        let names = names(in: source).all
        // The flag of a Boolean needs no value, and can have `--no-` before its name.
        guard source.hasFlags, base.schemaType == Bool.self else { return names }
        return names + names.map { "--no-" + $0.dropFirst(2) }
    }

    /// What differs in the definition of another declaration of the same key; `nil` if nothing does that can be compared.
    fileprivate func difference(from other: AnySetting) -> String? {
        if base.valueType != other.base.valueType { return "types" }
        if base.defaultStoredValue != other.base.defaultStoredValue { return "defaults" }
        if validValues != other.validValues { return "valid values" }
        if traits != other.traits { return "traits" }
        return nil
    }
}

extension SettingsError {
    fileprivate static func withoutSettings(_ name: String) -> SettingsError {
        SettingsError(
            .emptyCatalog,
            fact: "no setting is declared in a value of type \(name)",
            consequence: "the catalog does not contain its settings",
            remedy: "pass an instance of a struct or a class with settings; pass the elements of an array one by one"
        )
    }

    fileprivate static func sharedOldKey(_ key: String, _ setting: AnySetting, _ other: AnySetting) -> SettingsError {
        SettingsError(
            .conflictingDeclarations,
            fact:
                "'\(key)' is a key of \(setting.declaration) and of \(other.declaration), and an old one of at least one of them",
            consequence: "a set of one of them removes the value of the other",
            remedy: "remove '\(key)' from the old keys",
            key: key,
            suite: setting.suite.name
        )
    }

    fileprivate static func keyInValue(_ setting: AnySetting, of other: AnySetting) -> SettingsError {
        SettingsError(
            .conflictingDeclarations,
            fact: "the key continues '\(other.key)', the key of \(other.declaration)",
            consequence: "a value of that setting can have the value of this one as a member",
            remedy: "give one of them another key, and the old one with the trait .renamed(from:)",
            key: setting.key,
            suite: setting.suite.name
        )
    }

    fileprivate static func sharedName(_ name: String, _ setting: AnySetting, _ other: AnySetting) -> SettingsError {
        SettingsError(
            .conflictingDeclarations,
            fact:
                "\(name) belongs to \(setting.declaration), and to \(other.declaration) with the key '\(other.key)'",
            consequence: "one argument or variable changes both",
            remedy: "rename one of them, or give it another name with the trait .flag or .environment",
            key: setting.key,
            suite: setting.suite.name
        )
    }

    fileprivate static func conflictingDeclarations(
        _ setting: AnySetting,
        _ other: AnySetting,
        _ difference: String
    ) -> SettingsError {
        SettingsError(
            .conflictingDeclarations,
            fact: "\(setting.declaration) and \(other.declaration) declare it with different \(difference)",
            consequence: "each of them treats the stored value in its own way",
            remedy: "use one declaration, or two keys",
            key: setting.key,
            suite: setting.suite.name
        )
    }
}
