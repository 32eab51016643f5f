// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension Rows {
    /// The cost of a settings struct for a program that creates it repeatedly.
    static let making = [
        Row(group: "make", name: "make a settings struct, per property") { workspace in
            let suite = try workspace.suite(keys: 1_000)
            return Trial(
                subject: .loop("make", parts: TypicalSettings.propertyCount, create(TypicalSettings(suite))),
                comparisons: [.init(nil, .median(200)), .init(.loop("an object", createObject))]
            ) {
                withExtendedLifetime(suite) {}
            }
        },
        Row(group: "make", name: "make one in a group, per property") { workspace in
            let suite = try workspace.suite(keys: 1_000)
            let group = suite.group("db")
            return Trial(
                subject: .loop("make", parts: TypicalSettings.propertyCount, create(TypicalSettings(group))),
                comparisons: [.init(nil, .median(200)), .init(.loop("an object", createObject))]
            ) {
                withExtendedLifetime(suite) {}
            }
        },
        Row(group: "make", name: "make one that names its suite, per property") { workspace in
            let suite = try workspace.suite(named: LiteralSettings.suite)
            return Trial(
                subject: .loop("make", parts: TypicalSettings.propertyCount, create(LiteralSettings())),
                comparisons: [.init(.loop("an object", createObject))]
            ) {
                withExtendedLifetime(suite) {}
            }
        },
        Row(group: "make", name: "make a settings struct and read one property") { workspace in
            let suite = try workspace.suite(keys: 1_000)
            try await TypicalSettings(suite).$port.set(9_090)
            let body = { BlackHole.sum($0) { TypicalSettings(suite).port } }
            guard body(1) == 9_090 else { throw Failure("the value that was read is not the stored one") }
            return Trial(
                subject: .loop("make and read", body),
                comparisons: [.init(.loop("make alone", create(TypicalSettings(suite))))]
            )
        },
    ]

    /// Creates and releases an object repeatedly.
    private static func create<Value>(_ make: @autoclosure @escaping () -> Value) -> (Int) -> Int {
        { BlackHole.sum($0) { withExtendedLifetime(make()) { 1 } } }
    }

    /// The minimum cost of an object with identity.
    @Sendable private static func createObject(_ count: Int) -> Int {
        BlackHole.sum(count) { PlainObject.make().number }
    }
}

private final class PlainObject {
    let number: Int

    private init(_ number: Int) {
        self.number = number
    }

    /// Not inlined, because the optimizer would notice that the object is unused and create none.
    @inline(never)
    static func make() -> PlainObject { PlainObject(1) }
}
