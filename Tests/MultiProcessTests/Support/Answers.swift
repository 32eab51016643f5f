// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The expected answers of a probe that reads, assigns 1 to `n`, sets `m` to 2, and saves.
struct Answers {
    /// The values stored before: the number of keys, the integer under `n`, and its description.
    struct Values {
        var keys = 0
        var integer = 0
        var text = "none"
    }

    private var values: Values
    /// The allowed answers of each command.
    private var set = ["done"]
    private var checkpoint = ["done"]
    private var synchronize = ["done"]

    private init(_ values: Values) {
        self.values = values
    }

    /// Everything is stored.
    static func stored(_ values: Values = Values()) -> Answers { Answers(values) }

    /// The settings file cannot be read: sets go to the journal, and the file is not written.
    static func broken(lastGood values: Values = Values()) -> Answers {
        var answers = Answers(values)
        answers.checkpoint = ["error malformedFile"]
        return answers
    }

    /// Another file is in the journal's place.
    static var foreignJournal: Answers { notSaved(["error malformedJournal"]) }

    /// The system refuses to create the directory, with or without a permission error.
    static var refused: Answers { notSaved(["error writeFailed", "error readOnly"]) }

    private static func notSaved(_ set: [String]) -> Answers {
        var answers = Answers(Values())
        (answers.set, answers.checkpoint, answers.synchronize) = (set, ["error notSaved"], ["error notSaved"])
        return answers
    }

    /// The commands, each with its allowed answers.
    fileprivate var conversation: [(command: String, allowed: [String])] {
        [
            ("keys", ["\(values.keys)"]), ("get n", ["\(values.integer)"]), ("text n", [values.text]),
            ("assign n 1", ["done"]), ("set m 2", set), ("checkpoint", checkpoint), ("get n", ["1"]),
            ("synchronize", synchronize), ("finish", ["done"]),
        ]
    }
}

extension Probe {
    /// Expects these answers from the process, and a normal exit.
    func expectAnswers(_ answers: Answers, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for (command, allowed) in answers.conversation {
            try send(command)
            let answer = try await line(sourceLocation: sourceLocation)
            #expect(allowed.contains(answer), "\(command)", sourceLocation: sourceLocation)
            guard command == "set m 2" else { continue }
            // The value is set exactly when the answer is `done`.
            try await expect("get m", prints: answer == "done" ? "2" : "0", sourceLocation: sourceLocation)
        }
        try await finish(sourceLocation: sourceLocation)
    }
}

/// The contents of a settings file, read by Foundation's JSON parser.
func document(at path: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path))) as? [String: Any])
}
