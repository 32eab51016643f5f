// SPDX-License-Identifier: Apache-2.0

package import StoredSettings

/// One type with some of its values, which must come out of a file in another process as they went in.
///
/// Whoever imports this module has the same values. So one process can store them, and another one can tell whether what
/// it reads is the same.
package struct Law: Sendable {
    private let storeAll: @Sendable (SettingsSuite, _ prefix: String) throws -> Void
    private let firstFailure: @Sendable (SettingsSuite, _ prefix: String) -> String?
    private let passAll: @Sendable (SettingsSuite, _ from: String, _ to: String) throws -> Void

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
                    guard let read = try setting.load() ?? nil else { return "\(setting.key) is not there" }
                    // The stored forms tell apart what `==` of some types does not: 0.0 from -0.0, deep inside.
                    guard isSame(read, value), try read.storedValue() == value.storedValue() else {
                        return "\(setting.key) is another value"
                    }
                } catch {
                    return "\(error)"
                }
            }
            return nil
        }
        passAll = { suite, from, to in
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

    /// Stores all values, each under a key that begins with the prefix.
    package func store(in suite: SettingsSuite, prefix: String) throws { try storeAll(suite, prefix) }

    /// What is wrong with what is stored, if anything is.
    package func failure(in suite: SettingsSuite, prefix: String) -> String? { firstFailure(suite, prefix) }

    /// Reads each value and stores it again under another prefix.
    package func pass(in suite: SettingsSuite, from: String, to: String) throws { try passAll(suite, from, to) }
}
