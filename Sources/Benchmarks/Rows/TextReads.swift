// SPDX-License-Identifier: Apache-2.0

extension Rows {
    /// Hot reads of what lies in memory of its own.
    static let textReads = [
        row("String") { settings in
            { Sink.sum($0) { settings.text.utf8.count } }
        },
        row("[String]") { settings in
            { Sink.sum($0) { settings.texts.count } }
        },
    ]

    private static func row(_ type: String, _ body: @escaping @Sendable (SampleSettings) -> (Int) -> Int) -> Row {
        Row(group: "hot read", name: "read \(type)") { workspace in
            let body = body(try SampleSettings(workspace.suite(keys: 1_000)))
            guard body(1) > 0 else { throw Failure("what was read is not what was stored") }
            return Trial(subject: .loop(type, body), comparisons: [.init(Floors.mutexRead(), .atMost(3))])
        }
    }
}
