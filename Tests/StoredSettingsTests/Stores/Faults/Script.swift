// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// What a program does with a suite, step by step, the same in every run.
struct Script: Sendable {
    enum Step: Sendable {
        case read
        case set(String, StoredValue)
        /// What cannot throw: it is reported, and tried again.
        case assign(String, Int)
        case transaction([String: StoredValue?])
        case update(String, by: Int)
        case remove(String)
        case synchronize
        /// The disk fails to take what is in the journal, as any process may have noticed.
        case distrust
        case checkpoint
        /// Somebody writes `settings.json` anew with some keys changed, ones that are not waiting to be checkpointed.
        case edit([String: StoredValue])
        /// The program ends the suite, and another one begins.
        case reopen

        var isReopening: Bool {
            if case .reopen = self { return true }
            return false
        }

        /// Whether it makes sure that the disk has everything.
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

    /// Part of every text, so that it can be looked for where values must not be.
    static let secret = "hunter2"

    /// Longer than a sector of a disk.
    private static func longText(_ letter: Character) -> StoredValue {
        .string(secret + String(repeating: letter, count: 700))
    }

    static let standard = Script(steps: [
        .read,
        .set("port", 8_080),
        .set("limits", ["perSecond": 100, "burst": [1, 2, nil]]),
        .assign("count", 1),
        .transaction(["host": .string(secret), "text": longText("a"), "ratio": 0.1]),
        .update("count", by: 1),
        .remove("host"),
        .synchronize,
        .set("port", 8_081),
        .distrust,
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
        .distrust,
        .checkpoint,
        .checkpoint,
        .set("port", 3),
        .transaction(["text": longText("b"), "token": nil]),
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
        case .distrust: "distrust"
        case .checkpoint: "checkpoint"
        case .edit(let changes): "edit of \(changes.keys.sorted())"
        case .reopen: "reopen"
        }
    }
}
