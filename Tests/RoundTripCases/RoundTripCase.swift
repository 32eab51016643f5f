// SPDX-License-Identifier: Apache-2.0

package import StoredSettings

/// Values of one type, which have to be identical after a round trip through another process.
///
/// Every process that imports this module has the same values. One process can store them, and another can check them.
package struct RoundTripCase: Sendable {
    private let storeAll: @Sendable (SettingsSuite, _ prefix: String) throws -> Void
    private let firstFailure: @Sendable (SettingsSuite, _ prefix: String) -> String?
    private let copyAll: @Sendable (SettingsSuite, _ from: String, _ to: String) throws -> Void

    init<Value: StoredValueConvertible>(
        _ values: [Value],
        isSame: @escaping @Sendable (Value, Value) -> Bool
    ) {
        let type = "\(Value.self)"
        @Sendable func settings(_ suite: SettingsSuite, _ prefix: String) -> [Setting<Value?>] {
            values.indices.map { Setting(SettingKey("\(prefix) \(type) \($0)"), suite: suite) }
        }
        storeAll = { suite, prefix in
            try suite.transaction { transaction in
                for (setting, value) in zip(settings(suite, prefix), values) {
                    try transaction.set(value, for: setting)
                }
            }
        }
        firstFailure = { suite, prefix in
            for (setting, value) in zip(settings(suite, prefix), values) {
                do {
                    guard let read = try setting.load() ?? nil else { return "\(setting.key) is missing" }
                    // The stored values distinguish values that `==` of some types does not, such as 0.0 and -0.0 in
                    // nested values.
                    guard isSame(read, value), try read.storedValue() == value.storedValue() else {
                        return "\(setting.key) differs"
                    }
                } catch {
                    return "\(error)"
                }
            }
            return nil
        }
        copyAll = { suite, from, to in
            let pairs = zip(settings(suite, from), settings(suite, to))
            try suite.transaction { transaction in
                for (from, to) in pairs {
                    try transaction.set(transaction.value(of: from), for: to)
                }
            }
        }
    }

    init<Value: StoredValueConvertible & Equatable>(_ values: [Value]) {
        self.init(values, isSame: ==)
    }

    /// Stores all values under keys with a prefix.
    package func store(in suite: SettingsSuite, prefix: String) throws { try storeAll(suite, prefix) }

    /// A description of the first missing or different value; `nil` if there is none.
    package func failure(in suite: SettingsSuite, prefix: String) -> String? { firstFailure(suite, prefix) }

    /// Reads each value and stores it again under another prefix.
    package func copy(in suite: SettingsSuite, from: String, to: String) throws { try copyAll(suite, from, to) }
}
