// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// Changes of settings that are checked already, grouped by the store that takes them.
struct SettingsEdits: Sendable {
    /// The changes of one store.
    struct Group: Sendable {
        /// The first of the suites with the store.
        let suite: SettingsSuite
        fileprivate(set) var edits: [(key: String, value: StoredValue?)] = []
        /// The changed keys of each suite, whose layers may manage them.
        fileprivate var keys: [(suite: SettingsSuite, keys: [String])] = []

        /// Throws ``SettingsError`` if a changed key is managed in the suite of its setting.
        func checkUnmanaged() throws(SettingsError) {
            for (suite, keys) in keys { try suite.checkUnmanaged(keys) }
        }
    }

    private(set) var groups: [Group] = []

    var isEmpty: Bool { groups.allSatisfy(\.edits.isEmpty) }

    /// Adds the change of a setting; `nil` removes its value.
    mutating func add(_ value: StoredValue?, for setting: AnySetting) {
        add(setting.base.storedKeys.edits(value), in: setting.suite)
    }

    /// Adds changes of stored keys.
    mutating func add(_ edits: [(key: String, value: StoredValue?)], in suite: SettingsSuite) {
        let index = groups.firstIndex { $0.suite.engine === suite.engine } ?? groups.endIndex
        if index == groups.endIndex { groups.append(Group(suite: suite)) }
        groups[index].edits += edits
        groups[index].keys.append((suite, edits.map(\.key)))
    }

    /// Stores all changes, in one transaction for each store.
    ///
    /// The changes need no read, so that they can be stored while the settings file is malformed.
    func store() async throws {
        try await eachGroup { group in
            do {
                try group.checkUnmanaged()
                try group.suite.engine.write(group.edits)
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
