// SPDX-License-Identifier: Apache-2.0

extension Rows {
    /// Hot reads of values in separate memory.
    static let textReads = TextRead.all.map { read in
        Row(group: "hot read", name: "read \(read.name)") { workspace in
            let body = try read.body(in: workspace)
            return Trial(
                subject: .loop(read.name, body),
                comparisons: [.init(.loop("Mutex<String> read", Floors.mutexRead()), .atMost(3))]
            )
        }
    }

    /// The same reads on two threads at once.
    static let threadedTextReads = TextRead.all.map { read in
        Row(group: "hot read, 2 threads", name: "read \(read.name), 2 threads") { workspace in
            let body = try read.body(in: workspace)
            return Trial(
                subject: .threads(.together, read.name, body),
                comparisons: [
                    .init(.threads(.sequential, "the same, 1 thread", body)),
                    .init(.threads(.together, "Mutex<String> read, 2 threads", Floors.mutexRead())),
                ]
            )
        }
    }
}

/// A loop of reads of one type.
private struct TextRead: Sendable {
    let name: String
    let read: @Sendable (SampleSettings) -> @Sendable (Int) -> Int

    static let all = [
        TextRead(name: "String") { settings in
            { BlackHole.sum($0) { settings.text.utf8.count } }
        },
        TextRead(name: "[String]") { settings in
            { BlackHole.sum($0) { settings.texts.count } }
        },
    ]

    func body(in workspace: Workspace) throws -> @Sendable (Int) -> Int {
        let body = read(try SampleSettings(workspace.suite(keys: 1_000)))
        guard body(1) > 0 else { throw Failure("the value that was read is not the stored one") }
        return body
    }
}
