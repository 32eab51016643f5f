// SPDX-License-Identifier: Apache-2.0

@testable import StoredSettings

/// Two settings, `least` and `most`, that have to meet a requirement.
struct PoolSettings {
    let suite: SettingsSuite
    @DefaultStorage var least: Int
    @DefaultStorage var most: Int
    let catalog: SettingsCatalog

    init(_ suite: SettingsSuite) {
        self.suite = suite
        _least = DefaultStorage(wrappedValue: 1, key: "least", suite: suite, in: 0...1_000)
        _most = DefaultStorage(wrappedValue: 10, key: "most", suite: suite, in: 0...1_000)
        catalog = SettingsCatalog(_least, _most)
        catalog.require("least is at most most", $least, $most) { $0 <= $1 }
    }

    var values: [Int] { [least, most] }
}
