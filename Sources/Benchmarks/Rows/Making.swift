// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension Rows {
    /// What a struct of settings costs a program that makes it again and again.
    static let making = [
        Row(group: "make", name: "make a settings struct, per property") { workspace in
            let suite = try workspace.suite(keys: 1_000)
            return Trial(
                subject: .loop("make", parts: MadeSettings.propertyCount, made(MadeSettings(suite))),
                comparisons: [.init(nil, .median(200)), .init(.loop("an object", madeObject))]
            ) {
                withExtendedLifetime(suite) {}
            }
        },
        Row(group: "make", name: "make one that names its suite, per property") { workspace in
            let suite = try workspace.suite(named: LiteralSettings.suite)
            return Trial(
                subject: .loop("make", parts: MadeSettings.propertyCount, made(LiteralSettings())),
                comparisons: [.init(.loop("an object", madeObject))]
            ) {
                withExtendedLifetime(suite) {}
            }
        },
        Row(group: "make", name: "make a settings struct and read one property") { workspace in
            let suite = try workspace.suite(keys: 1_000)
            try MadeSettings(suite).$port.set(9_090)
            let body = { Subscriber.sum($0) { MadeSettings(suite).port } }
            guard body(1) == 9_090 else { throw Failure("what was read is not what was stored") }
            return Trial(
                subject: .loop("make and read", body),
                comparisons: [.init(.loop("make alone", made(MadeSettings(suite))))]
            )
        },
    ]

    /// Makes something again and again, and lets go of it.
    private static func made<Value>(_ make: @autoclosure @escaping () -> Value) -> (Int) -> Int {
        { Subscriber.sum($0) { withExtendedLifetime(make()) { 1 } } }
    }

    /// The least that a thing with an identity can cost.
    @Sendable private static func madeObject(_ count: Int) -> Int {
        Subscriber.sum(count) { PlainObject.make().number }
    }
}

private final class PlainObject {
    let number: Int

    private init(_ number: Int) {
        self.number = number
    }

    /// Not inlined: else the optimiser sees that nobody keeps the object, and makes none.
    @inline(never)
    static func make() -> PlainObject { PlainObject(1) }
}
