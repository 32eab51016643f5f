// SPDX-License-Identifier: Apache-2.0

struct UnkeyedNodeDecoder: UnkeyedDecodingContainer {
    let elements: [StoredValue]
    let place: CodingPlace
    let run: DecodingRun
    private(set) var currentIndex = 0

    init(elements: [StoredValue], place: CodingPlace, run: DecodingRun) {
        self.elements = elements
        self.place = place
        self.run = run
    }

    var codingPath: [any CodingKey] { place.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        guard try next(Never?.self).kind == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode(_ type: Int128.Type) throws -> Int128 {
        try advance(type) { try $2.convert(type, $0, $1) }
    }

    mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
        try advance(type) { try $2.convert(type, $0, $1) }
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try advance(type) { try $2.value(type, from: $0, at: $1) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try advance(type) { try NodeDecoder(storedValue: $0, place: $1, run: $2).container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try advance([StoredValue].self) { try NodeDecoder(storedValue: $0, place: $1, run: $2).unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder {
        try advance((any Decoder).self) { NodeDecoder(storedValue: $0, place: $1, run: $2) }
    }

    private func next(_ type: Any.Type) throws -> StoredValue {
        guard !isAtEnd else {
            let error = SettingsError.invalidValue("expected one more element, found the end of the array")
            let context = DecodingError.Context(
                codingPath: place.inside(currentIndex).codingPath,
                debugDescription: error.fact,
                underlyingError: error
            )
            throw DecodingError.valueNotFound(type, context)
        }
        return elements[currentIndex]
    }

    /// Advances to the next element only when this one was decoded, so that a type can try to decode it differently.
    private mutating func advance<Result>(
        _ type: Any.Type,
        _ read: (StoredValue, CodingPlace, DecodingRun) throws -> Result
    ) throws -> Result {
        let result = try read(try next(type), place.inside(currentIndex), run)
        currentIndex += 1
        return result
    }
}
