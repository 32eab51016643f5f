// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

/// A collection of any elements.
private struct Bag<Element: StoredValueConvertible & Equatable>: Collection, StoredCollection, Equatable {
    private var elements: [Element]

    init(stored elements: [Element]) { self.elements = elements }

    var startIndex: Int { elements.startIndex }
    var endIndex: Int { elements.endIndex }
    func index(after index: Int) -> Int { elements.index(after: index) }
    subscript(index: Int) -> Element { elements[index] }
}

/// A collection that is never empty.
private struct Queue: Collection, StoredCollection, Equatable {
    private var first: String
    private var rest: [String]

    init(stored names: [String]) throws {
        guard let first = names.first else { throw SettingsError.invalidValue("the queue is empty") }
        (self.first, rest) = (first, Array(names.dropFirst()))
    }

    var startIndex: Int { 0 }
    var endIndex: Int { rest.count + 1 }
    func index(after index: Int) -> Int { index + 1 }
    subscript(index: Int) -> String { index == 0 ? first : rest[index - 1] }
}

/// A collection that conforms to RangeReplaceableCollection, so it needs no other requirement.
///
/// Its `Codable` conformance is not used.
private struct Stack: RangeReplaceableCollection, StoredCollection, Equatable, Codable {
    private var elements: [Int] = []

    var startIndex: Int { elements.startIndex }
    var endIndex: Int { elements.endIndex }
    func index(after index: Int) -> Int { elements.index(after: index) }
    subscript(index: Int) -> Int { elements[index] }
    mutating func replaceSubrange(_ range: Range<Int>, with new: some Collection<Int>) {
        elements.replaceSubrange(range, with: new)
    }
}

/// A set algebra that is a sequence, so it needs no other requirement.
private struct Tags: SetAlgebra, Sequence, StoredSetAlgebra {
    private var names: Set<String> = []

    init() {}

    private init(_ names: Set<String>) { self.names = names }

    func makeIterator() -> Set<String>.Iterator { names.makeIterator() }
    func contains(_ member: String) -> Bool { names.contains(member) }
    @discardableResult
    mutating func insert(_ member: String) -> (inserted: Bool, memberAfterInsert: String) { names.insert(member) }
    @discardableResult
    mutating func remove(_ member: String) -> String? { names.remove(member) }
    @discardableResult
    mutating func update(with member: String) -> String? { names.update(with: member) }
    func union(_ other: Tags) -> Tags { Tags(names.union(other.names)) }
    func intersection(_ other: Tags) -> Tags { Tags(names.intersection(other.names)) }
    func symmetricDifference(_ other: Tags) -> Tags { Tags(names.symmetricDifference(other.names)) }
    mutating func formUnion(_ other: Tags) { names.formUnion(other.names) }
    mutating func formIntersection(_ other: Tags) { names.formIntersection(other.names) }
    mutating func formSymmetricDifference(_ other: Tags) { names.formSymmetricDifference(other.names) }
}

private struct Features: OptionSet, StoredValueConvertible {
    let rawValue: UInt8
    static let search = Features(rawValue: 1)
    static let upload = Features(rawValue: 4)
}

@Suite("Parity: custom collections and sets")
struct OwnCollectionParityTests {
    private let suite = SettingsSuite.inMemory()

    @Test("Row 23: a custom collection is stored as the array of its elements")
    func collections() throws {
        let bag = Setting("bag", default: Bag(stored: [[1]]), suite: suite)
        #expect(bag.value == Bag(stored: [[1]]))
        try bag.set(Bag(stored: [[2, 3], []]))
        #expect(suite[storedValueFor: "bag"] == [[2, 3], []])
        #expect(try bag.load() == Bag(stored: [[2, 3], []]))
        try suite.setStoredValue([[2], ["x"]], forKey: "bag")
        #expect(settingsError { try bag.load() }?.path == [.index(1), .index(0)])

        let stack = Setting("stack", default: Stack(), suite: suite)
        stack.value.append(1)
        stack.value.append(2)
        #expect(suite[storedValueFor: "stack"] == [1, 2])
        #expect(try stack.load() == Stack([1, 2]))
        #expect(try ["a": [Stack([1])]].storedValue() == ["a": [[1]]])
    }

    @Test("Row 23: a custom collection can reject an array by throwing")
    func rejecting() throws {
        let queue = Setting("queue", default: try Queue(stored: ["first"]), suite: suite)
        try queue.set(Queue(stored: ["a", "b"]))
        #expect(suite[storedValueFor: "queue"] == ["a", "b"])
        #expect(try queue.load() == Queue(stored: ["a", "b"]))
        try suite.setStoredValue([], forKey: "queue")
        #expect(settingsError { try queue.load() }?.code == .invalidValue)
        #expect(queue.value.first == "a")
    }

    @Test("Row 24: a custom set needs only the conformance, and is stored as its elements in a stable order")
    func sets() throws {
        let labels = Setting("labels", default: Tags(["default"]), suite: suite)
        try labels.set(["c", "a", "b"])
        #expect(suite[storedValueFor: "labels"] == ["a", "b", "c"])
        #expect(try labels.load() == ["b", "c", "a"])
        try labels.update { $0.insert("d") }
        #expect(labels.value.contains("d") && !labels.value.contains("default"))
        try suite.setStoredValue(["a", 1], forKey: "labels")
        #expect(settingsError { try labels.load() }?.path == [.index(1)])
    }

    @Test("Row 24: an option set is stored by its raw value")
    func optionSets() throws {
        let features = Setting<Features>("features", default: [], suite: suite)
        features.value.insert(.upload)
        features.value.insert(.search)
        #expect(suite[storedValueFor: "features"] == 5)
        #expect(try features.load() == [.search, .upload])
    }
}
