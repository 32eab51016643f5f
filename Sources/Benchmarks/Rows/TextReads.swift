// SPDX-License-Identifier: Apache-2.0

extension Rows {
    /// Hot reads of what lies in memory of its own.
    static let textReads = [
        row("String") { settings in
            { count in
                var sum = 0
                for _ in 0..<count { sum &+= settings.text.utf8.count }
                return sum
            }
        },
        row("[String]") { settings in
            { count in
                var sum = 0
                for _ in 0..<count { sum &+= settings.texts.count }
                return sum
            }
        },
    ]

    private static func row(_ type: String, _ body: @escaping @Sendable (SampleSettings) -> (Int) -> Int) -> Row {
        Row(group: "hot read", name: "read \(type)") { workspace in
            let body = body(try SampleSettings(workspace.suite(keys: 1_000)))
            guard body(1) > 0 else { throw Failure("what was read is not what was stored") }
            return Trial(
                subject: .loop(type, body),
                comparisons: [.init(Floors.mutexRead(), .atMost(3))]
            )
        }
    }
}
