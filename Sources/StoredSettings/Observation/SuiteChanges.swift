// SPDX-License-Identifier: Apache-2.0

extension SettingsSuite {
    /// Every change of any key from now on.
    ///
    /// The changes of a transaction are one element.
    ///
    /// As with ``Setting/changes``, the first loop receives the changes since this property was read, and a slow loop
    /// receives several changes as one.
    public var changes: Changes { Changes(engine: engine, keys: nil) }

    /// Every change of some keys from now on.
    ///
    /// The changes of these keys in one transaction are one element.
    public func changes(of keys: String...) -> Changes {
        changes(of: keys)
    }

    /// Every change of some keys from now on.
    ///
    /// The changes of these keys in one transaction are one element.
    public func changes(of keys: [String]) -> Changes {
        Changes(engine: engine, keys: Set(keys))
    }

    /// Every change of some keys from now on.
    ///
    /// The changes of these keys in one transaction are one element.
    public func changes(of keys: AnySettingKey...) -> Changes {
        changes(of: keys)
    }

    /// Every change of some keys from now on.
    ///
    /// The changes of these keys in one transaction are one element.
    public func changes(of keys: [AnySettingKey]) -> Changes {
        changes(of: keys.flatMap(\.storedKeys.all))
    }

    /// Every change of some settings from now on.
    ///
    /// The changes of these settings in one transaction are one element. They are changes of stored keys, so a renamed setting
    /// that is moved to its new key is one. For typed values, use ``values(of:)``.
    ///
    /// - Parameter settings: Settings of this suite, of any types. A setting of another suite is reported and not observed.
    /// - Returns: The changes.
    public func changes<each Value: Sendable>(of settings: repeat Setting<each Value>) -> Changes {
        changes(of: observed(repeat each settings).flatMap(\.storedKeys.all))
    }

    /// The changes of a suite over time: see ``SettingsSuite/changes``.
    public struct Changes: AsyncSequence, Sendable {
        private let engine: SettingsEngine
        private let keys: Set<String>?
        private let subscription: ChangeSubscription<Change>

        init(engine: SettingsEngine, keys: Set<String>?) {
            self.engine = engine
            self.keys = keys
            subscription = Self.subscribe(engine, keys)
        }

        /// Starts with the changes since the sequence was created; a second loop starts now.
        public func makeAsyncIterator() -> Iterator {
            Iterator(subscription: subscription.take() ? subscription : Self.subscribe(engine, keys))
        }

        private static func subscribe(_ engine: SettingsEngine, _ keys: Set<String>?) -> ChangeSubscription<Change> {
            let storage = StreamSubscriber { Change($0, keys: keys) }
            return ChangeSubscription(storage, in: engine, id: engine.addSubscriber(storage))
        }

        /// The changes for one loop.
        public struct Iterator: AsyncIteratorProtocol {
            let subscription: ChangeSubscription<Change>

            /// The next change; `nil` when the task is canceled or the suite is finished.
            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Change? {
                await subscription.storage.next(isolation: actor)
            }
        }
    }
}

@available(*, unavailable, message: "An iterator belongs to one loop; give each task its own loop over the sequence.")
extension SettingsSuite.Changes.Iterator: Sendable {}
