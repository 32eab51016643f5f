// SPDX-License-Identifier: Apache-2.0

extension SettingsSuite {
    /// Every change of any key from now on, by whomever.
    ///
    /// The changes of a transaction come as one.
    ///
    /// As with ``Setting/changes``, the first loop gets what has changed since this property was read, and a loop that is
    /// slow gets several changes as one.
    public var changes: SettingsSuite.Changes {
        SettingsSuite.Changes(engine: engine, keys: nil)
    }

    /// Every change of some keys from now on, by whomever.
    ///
    /// What a transaction changes of them comes as one.
    public func changes(of keys: String...) -> SettingsSuite.Changes {
        SettingsSuite.Changes(engine: engine, keys: Set(keys))
    }

    /// Every change of some keys from now on, by whomever.
    ///
    /// What a transaction changes of them comes as one.
    public func changes(of keys: SettingKeys...) -> SettingsSuite.Changes {
        SettingsSuite.Changes(engine: engine, keys: Set(keys.map(\.name)))
    }
}

/// The changes of a suite over time: see ``SettingsSuite/changes``.
public struct SettingsSuite.Changes: AsyncSequence, Sendable {
    private let engine: SettingsEngine
    private let keys: Set<String>?
    private let subscription: ChangeSubscription<SettingsSuite.Change>

    init(engine: SettingsEngine, keys: Set<String>?) {
        self.engine = engine
        self.keys = keys
        subscription = Self.subscribe(engine, keys)
    }

    /// Begins with what has changed since the sequence was made, or, from the second time on, since now.
    public func makeAsyncIterator() -> Iterator {
        Iterator(subscription: subscription.take() ? subscription : Self.subscribe(engine, keys))
    }

    private static func subscribe(_ engine: SettingsEngine, _ keys: Set<String>?) -> ChangeSubscription<SettingsSuite.Change> {
        let storage = ChangeStorage { SettingsSuite.Change($0, keys: keys) }
        return ChangeSubscription(storage, in: engine, id: engine.addSubscriber(storage))
    }

    /// Gives one loop its changes.
    public struct Iterator: AsyncIteratorProtocol {
        let subscription: ChangeSubscription<SettingsSuite.Change>

        /// The next change; `nil` when the task is cancelled or the suite is finished.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> SettingsSuite.Change? {
            await subscription.storage.next(isolation: actor)
        }
    }
}

@available(*, unavailable, message: "An iterator belongs to one loop; give each task its own loop over the sequence.")
extension SettingsSuite.Changes.Iterator: Sendable {}
