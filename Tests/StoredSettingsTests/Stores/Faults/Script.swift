// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// The steps of a program that uses a suite, the same in every run.
struct Script: Sendable {
    enum Step: Sendable {
        case read
        case set(String, StoredValue)
        /// Assigns a value. A failure is reported and retried.
        case assign(String, Int)
        case transaction([String: StoredValue?])
        case update(String, by: Int)
        case remove(String)
        case synchronize
        /// A failed sync, which any process may have noticed: the disk may lack the journal's contents.
        case markUnreliable
        case checkpoint
        /// Another program rewrites `settings.json` and changes some keys that have no change to checkpoint.
        case edit([String: StoredValue])
        /// Finishes the suite and creates a new one.
        case reopen

        var isReopening: Bool {
            if case .reopen = self { return true }
            return false
        }

        /// Whether the step makes all values durable.
        var isSynchronizing: Bool {
            switch self {
            case .synchronize, .checkpoint, .reopen: true
            default: false
            }
        }

        var isChange: Bool {
            switch self {
            case .set, .assign, .transaction, .update, .remove: true
            default: false
            }
        }

        var isEdit: Bool {
            if case .edit = self { return true }
            return false
        }
    }

    var steps: [Step]

    /// A part of every string, so that the test can search for it where values must not appear.
    static let secret = "hunter2"

    /// A string that is longer than a disk sector.
    private static func longString(_ letter: Character) -> StoredValue {
        .string(secret + String(repeating: letter, count: 700))
    }

    static let standard = Script(steps: [
        .read,
        .set("port", 8_080),
        .set("limits", ["perSecond": 100, "burst": [1, 2, nil]]),
        .assign("count", 1),
        .transaction(["host": .string(secret), "text": longString("a"), "ratio": 0.1]),
        .update("count", by: 1),
        .remove("host"),
        .synchronize,
        .set("port", 8_081),
        .markUnreliable,
        .synchronize,
        .set("token", .string(secret + "?")),
        .checkpoint,
        .set("port", 1),
        .edit(["edited": true, "by": "hand"]),
        .checkpoint,
        .update("count", by: 5),
        .transaction(["port": nil, "limits": ["perSecond": 7, "burst": []], "ratio": -1.5]),
        .reopen,
        .update("count", by: 1),
        .set("port", 2),
        .transaction(["port": 20, "added": 3]),
        .set("port", 21),
        .markUnreliable,
        .checkpoint,
        .checkpoint,
        .set("port", 3),
        .transaction(["text": longString("b"), "token": nil]),
        .synchronize,
        .assign("count", 100),
        .edit(["edited": false]),
        .reopen,
        .read,
        .remove("edited"),
        .set("port", 4),
        .checkpoint,
        .set("last", [true]),
    ])
}

extension Script.Step: CustomStringConvertible {
    var description: String {
        switch self {
        case .read: "read"
        case .set(let key, _): "set \(key)"
        case .assign(let key, let value): "assign \(value) to \(key)"
        case .transaction(let changes): "transaction of \(changes.keys.sorted())"
        case .update(let key, let increment): "update \(key) by \(increment)"
        case .remove(let key): "remove \(key)"
        case .synchronize: "synchronize"
        case .markUnreliable: "markUnreliable"
        case .checkpoint: "checkpoint"
        case .edit(let changes): "edit of \(changes.keys.sorted())"
        case .reopen: "reopen"
        }
    }
}
