// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// Changes of settings that are checked already, grouped by the store that takes them.
struct SettingsEdits: Sendable {
    /// The changes of one store.
    struct Group: Sendable {
        /// The first of the suites with the store.
        let suite: SettingsSuite
        fileprivate(set) var edits: [(key: String, value: StoredValue?)] = []
        /// The changes of some members, each of which needs the value in the transaction.
        fileprivate var parts: [@Sendable (inout SettingsTransaction) throws -> Void] = []
        /// The changed keys of each suite, whose layers may manage them.
        fileprivate var keys: [(suite: SettingsSuite, keys: [String])] = []

        /// Throws ``SettingsError`` if a changed key is managed in the suite of its setting.
        func checkUnmanaged() throws(SettingsError) {
            for (suite, keys) in keys { try suite.checkUnmanaged(keys) }
        }
    }

    private(set) var groups: [Group] = []

    var isEmpty: Bool { groups.allSatisfy { $0.edits.isEmpty && $0.parts.isEmpty } }

    /// Adds the change of a setting; `nil` removes its value.
    mutating func add(_ value: StoredValue?, for setting: AnySetting) {
        add(setting.base.storedKeys.edits(value), in: setting.suite)
    }

    /// Adds the change of a setting to the value of a text.
    mutating func add(_ text: ConvertedText, for setting: AnySetting) {
        guard let part = text.setPart else { return add(text.value, for: setting) }
        let index = index(of: setting.suite)
        groups[index].parts.append(part)
        groups[index].keys.append((setting.suite, setting.base.storedKeys.all))
    }

    /// Adds changes of stored keys.
    mutating func add(_ edits: [(key: String, value: StoredValue?)], in suite: SettingsSuite) {
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

    /// Stores all changes, in one transaction for each store.
    ///
    /// Changes of whole values need no read, so that they can be stored while the settings file is malformed.
    func store() async throws {
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

    /// Runs a body for each store, and says what is stored already when a later one fails.
    func eachGroup(_ body: @escaping @Sendable (Group) throws -> Void) async throws {
        var stored: [String] = []
        for group in groups {
            do {
                try await group.suite.engine.suspending { try body(group) }
            } catch {
                guard !stored.isEmpty else { throw error }
                let failure =
                    error is CancellationError
                    ? CommandFailure(CommandExit.temporary, "The command was canceled. Run it again.")
                    : CommandFailure(error)
                let names = stored.map { "'\($0)'" }.joined(separator: ", ")
                throw CommandFailure(
                    failure.code,
                    messages: failure.messages + ["The changes of \(names) are stored already."]
                )
            }
            stored.append(group.suite.name)
        }
    }
}
