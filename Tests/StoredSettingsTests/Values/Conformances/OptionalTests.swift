// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Optional")
struct OptionalTests {

    @Test("nested nil values are distinct")
    func nested() throws {
        let values: [Int???] = [nil, .some(nil), .some(.some(nil)), 3]
        #expect(try values.map { try $0.storedValue() } == [nil, [nil], [[nil]], 3])
        #expect(try values.map { try Int???(storedValue: $0.storedValue()) } == values)
        let lists: [[Int?]?] = [nil, [], [nil], [nil, nil], [1]]
        #expect(try lists.map { try $0.storedValue() } == [nil, [], [[nil]], [nil, nil], [1]])
        #expect(try lists.map { try [Int?]?(storedValue: $0.storedValue()) } == lists)
    }

    @Test("a list of one null in an edited file is read as that list")
    func editedFile() throws {
        #expect(try [Int?]?(storedValue: [nil]) == [nil])
        #expect(try [[Int?]]?(storedValue: [[nil]]) == [[nil]])
    }

    @Test("an invalid value fails like the wrapped type")
    func invalidValue() {
        #expect(settingsError { try Bool?(storedValue: 1) }?.fact == "expected a Boolean, found an integer")
        #expect(settingsError { try Bool?(storedValue: [nil]) }?.fact == "expected a Boolean, found an array")
        #expect(settingsError { try [Bool?](storedValue: [nil, true, 2]) }?.path == [.index(2)])
    }
}
