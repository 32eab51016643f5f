// SPDX-License-Identifier: Apache-2.0

extension Setting {
    /// Every change from now on, by whomever, with the values before and after.
    ///
    /// The first loop over the sequence gets what has changed since this property was read, so nothing falls between
    /// the two; each further loop begins when it begins. Otherwise it is as ``values``: equal values are no change, and
    /// a loop that is slow gets several changes as one.
    public var changes: SettingChanges<Value> {
        SettingChanges(setting: self, subscription: subscribe().0)
    }
}

/// The changes of a setting over time: see ``Setting/changes``.
public struct SettingChanges<Value: Sendable>: AsyncSequence, Sendable {
    let setting: Setting<Value>
    let subscription: ChangeSubscription<KeyChange>

    /// Begins with what has changed since the sequence was made, or, from the second time on, since now.
    public func makeAsyncIterator() -> Iterator {
        Iterator(setting: setting, subscription: subscription.take() ? subscription : setting.subscribe().0)
    }

    /// Gives one loop its changes.
    public struct Iterator: AsyncIteratorProtocol {
        let setting: Setting<Value>
        let subscription: ChangeSubscription<KeyChange>

        /// The next change; `nil` when the task is cancelled or the suite is finished.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> SettingChange<Value>? {
            while let change = await subscription.storage.next(isolation: actor) {
                if let change = setting.change(change) { return change }
            }
            return nil
        }
    }
}

@available(*, unavailable, message: "An iterator belongs to one loop; give each task its own loop over the sequence.")
extension SettingChanges.Iterator: Sendable {}
