// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StoredSettings

@Suite("The changes of a commit")
struct StoreChangeTests {
    private static let contents: [String: StoredValue] = ["a": 1, "b": 2, "c": 3]

    @Test("those between two contents name every key that differs, in order")
    func between() {
        func changes(to new: [String: StoredValue]) -> [StoreChange] { [StoreChange](from: Self.contents, to: new) }
        #expect(changes(to: Self.contents) == [])
        #expect(changes(to: ["a": 1, "b": 2]) == [StoreChange(key: "c", old: 3, new: nil)])
        #expect(changes(to: ["a": 1, "b": 2, "c": 3, "d": 4]) == [StoreChange(key: "d", old: nil, new: 4)])
        // As many keys are gone as there are new ones, and more new ones than are gone.
        let exchanged = [StoreChange(key: "c", old: 3, new: nil), StoreChange(key: "d", old: nil, new: 4)]
        #expect(changes(to: ["a": 1, "b": 2, "d": 4]) == exchanged)
        let more = exchanged + [StoreChange(key: "e", old: nil, new: 5)]
        #expect(changes(to: ["a": 1, "b": 2, "d": 4, "e": 5]) == more)
        #expect(
            changes(to: ["b": 9]) == [
                StoreChange(key: "a", old: 1, new: nil), StoreChange(key: "b", old: 2, new: 9),
                StoreChange(key: "c", old: 3, new: nil),
            ]
        )
        #expect(changes(to: [:]).map(\.key) == ["a", "b", "c"])
    }

    @Test("those of a transaction have each key once, however many keys there are", arguments: 1...20)
    func transaction(count: Int) {
        var transaction = StoreTransaction(base: ["k01": 0])
        let keys = (1...count).map { $0 < 10 ? "k0\($0)" : "k\($0)" }
        for (index, key) in keys.enumerated() {
            for value in [-1, index + 1] {
                transaction[key] = .integer(Int128(value))
                // Each key is found, the first as well as the last.
                #expect(transaction[key] == .integer(Int128(value)))
                #expect(transaction["k01"] == .integer(Int128(index == 0 ? value : 1)))
            }
        }
        #expect(transaction.keys == keys)
        #expect(transaction.edited.map(\.key) == keys)
        #expect(transaction.changes.map(\.key) == keys)
        #expect(transaction.changes.map(\.new) == (1...count).map { .integer(Int128($0)) })
        transaction["k01"] = 0
        #expect(transaction.changes.map(\.key) == Array(keys.dropFirst()))
    }

    @Test("a pending write in an object that is taken back leaves the other changes of the object")
    func revertedMember() {
        let keys = DeclaredKeys()
        keys.insert(["db.host", "db.port", "db.size"]) { [] }
        let base: [String: StoredValue] = ["db": ["host": "a", "port": 1]]
        var transaction = StoreTransaction(base: StoreContents(base), declaredKeys: keys)
        transaction.flush(2, forKey: "db.port")
        transaction.flush(3, forKey: "db.size")
        transaction["db.host"] = "b"
        #expect(transaction.changes.map(\.new) == [["host": "b", "port": 2, "size": 3]])
        transaction.revertFlushed("db.port")
        transaction.revertFlushed("db.host")
        #expect(transaction.edited.map(\.key) == ["db.host", "db.size"])
        #expect(transaction.changes.map(\.new) == [["host": "b", "port": 1, "size": 3]])
        #expect(transaction["db.port"] == 1 && transaction["db"]?["host"] == "b")
        transaction["db"] = ["port": 9]
        #expect(transaction["db.host"] == nil && transaction["db.port"] == 9)
        transaction["db.port"] = nil
        #expect(transaction.keys == [])
        #expect(transaction.changes == [StoreChange(key: "db", old: base["db"], new: nil)])
    }
}
