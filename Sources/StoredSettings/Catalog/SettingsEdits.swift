// SPDX-License-Identifier: Apache-2.0

/// Changes of settings that are checked already, grouped by the store that takes them.
package struct SettingsEdits: Sendable {
    /// The changes of one store.
    package struct Group: Sendable {
        /// The first of the suites with the store.
        package let suite: SettingsSuite
        package fileprivate(set) var edits: [(key: String, value: StoredValue?)] = []
        /// The changes of some members, each of which needs the value in the transaction.
        fileprivate var parts: [@Sendable (inout SettingsTransaction) throws -> Void] = []
        /// What they would store over the values of now.
        fileprivate var previews: [(key: String, value: StoredValue?)] = []
        /// The changed keys of each suite, whose layers may manage them.
        fileprivate var keys: [(suite: SettingsSuite, keys: [String])] = []

        /// The changes as they would be now.
        var preview: [(key: String, value: StoredValue?)] { edits + previews }

        /// Throws ``SettingsError`` if a changed key is managed in the suite of its setting.
        package func checkUnmanaged() throws(SettingsError) {
            for (suite, keys) in keys { try suite.checkUnmanaged(keys) }
        }
    }

    private(set) var groups: [Group] = []

    package init() {}

    package var isEmpty: Bool { groups.allSatisfy { $0.edits.isEmpty && $0.parts.isEmpty } }

    /// Adds the change of a setting; `nil` removes its value.
    package mutating func add(_ value: StoredValue?, for setting: AnySetting) {
        add(setting.base.storedKeys.edits(value), in: setting.suite)
    }

    /// Adds the change of a setting to the value of a text.
    package mutating func add(_ text: ConvertedText, for setting: AnySetting) {
        guard let part = text.setPart else { return add(text.value, for: setting) }
        let index = index(of: setting.suite)
        groups[index].parts.append(part)
        groups[index].previews += setting.base.storedKeys.edits(text.value)
        groups[index].keys.append((setting.suite, setting.base.storedKeys.all))
    }

    /// Adds changes of stored keys.
    package mutating func add(_ edits: [(key: String, value: StoredValue?)], in suite: SettingsSuite) {
        let index = index(of: suite)
        groups[index].edits += edits
        groups[index].keys.append((suite, edits.map(\.key)))
    }

    /// The index of the group with the store of a suite, which is added if necessary.
    private mutating func index(of suite: SettingsSuite) -> Int {
        if let known = groups.firstIndex(where: { $0.suite.engine === suite.engine }) { return known }
        groups.append(Group(suite: suite))
        return groups.count - 1
    }

    /// The errors of the requirements that would not be met.
    var requirementErrors: [SettingsError] {
        groups.flatMap { $0.suite.engine.requirementErrors(after: $0.preview) }
    }

    /// Stores all changes, in one transaction for each store.
    ///
    /// Changes of whole values need no read, so that they can be stored while the settings file is malformed.
    package func store() async throws {
        try await eachGroup { group in
            do {
                try group.checkUnmanaged()
                guard !group.parts.isEmpty else { return try group.suite.engine.write(group.edits) }
                // Each suite was asked about its own keys.
                try group.suite.transaction(isManaging: true) { transaction in
                    for (key, value) in group.edits { try transaction.setStoredValue(value, forKey: key) }
                    for part in group.parts { try part(&transaction) }
                }
            } catch let error as SettingsError {
                throw error.suite == nil ? group.suite.naming(error) : error
            }
        }
    }

    /// Runs a body for each store.
    ///
    /// - Throws: The error of the body; ``PartlyStoredError`` if the changes of other suites are stored by then.
    package func eachGroup(_ body: @escaping @Sendable (Group) throws -> Void) async throws {
        var stored: [String] = []
        for group in groups {
            do {
                try await group.suite.engine.suspending { try body(group) }
            } catch {
                throw stored.isEmpty ? error : PartlyStoredError(suites: stored, cause: error)
            }
            stored.append(group.suite.name)
        }
    }
}

/// The changes of some suites are stored, and those of another one are not.
package struct PartlyStoredError: Error {
    let suites: [String]
    package let cause: any Error

    /// The names of the suites, for a message.
    package var names: String { suites.map { "'\($0)'" }.joined(separator: ", ") }
}

extension SettingsError {
    init(_ error: PartlyStoredError) {
        let cause = error.cause as? SettingsError
        self.init(
            .partlyStored,
            fact: cause?.fact ?? (error.cause is CancellationError ? "the task was canceled" : "\(error.cause)"),
            consequence: "the changes of \(error.names) are stored already, and the others are not",
            remedy: cause?.remedy ?? "make the other changes again",
            key: cause?.key,
            suite: cause?.suite,
            location: cause?.location,
            underlying: error.cause
        )
    }
}
