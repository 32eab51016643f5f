// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

extension KeyedArchive {
    /// The classes of plain values.
    static let plainClassNames: Set<String> = [
        "NSArray", "NSMutableArray", "NSSet", "NSMutableSet", "NSDictionary", "NSMutableDictionary", "NSString",
        "NSMutableString", "NSData", "NSMutableData", "NSDate", "NSURL",
    ]

    /// Whether the bytes are an archive.
    static func isArchive(_ bytes: Data) -> Bool {
        do {
            _ = try KeyedArchive(bytes)
            return true
        } catch {
            return false
        }
    }

    /// The array, dictionary, string, number, date, data or URL in the archive.
    ///
    /// The value is read from the archive directly, without decoding an object.
    ///
    /// - Throws: `SettingsError` if the archive holds another object.
    func plainValue() throws -> StoredValue {
        try checkDepth()
        return try plainValue(ofObject: root)
    }

    /// The plain value of an object.
    func plainValue(ofObject index: Int) throws -> StoredValue {
        guard let name = try className(ofObject: index) else {
            guard case .value(let value) = list.objects[objects[index]] else { throw Self.damaged }
            return value == "$null" ? .null : value
        }
        let parts = list.dictionary(at: objects[index]) ?? [:]
        switch name {
        case "NSArray", "NSMutableArray", "NSSet", "NSMutableSet":
            return .array(try references(parts["NS.objects"]).map(plainValue))
        case "NSDictionary", "NSMutableDictionary":
            return try dictionary(parts)
        case "NSString", "NSMutableString":
            return try leaf(parts["NS.string"])
        case "NSData", "NSMutableData":
            return try leaf(parts["NS.data"])
        case "NSDate":
            return .date(Date(timeIntervalSinceReferenceDate: try Double(storedValue: leaf(parts["NS.time"]))))
        case "NSURL":
            return try url(parts)
        default:
            throw SettingsError.invalidValue("the archive holds an object of class \(name), which is not a plain value")
        }
    }

    private func dictionary(_ parts: [String: Int]) throws -> StoredValue {
        let (names, values) = (try references(parts["NS.keys"]), try references(parts["NS.objects"]))
        guard names.count == values.count else { throw Self.damaged }
        var result: [String: StoredValue] = [:]
        for (name, value) in zip(names, values) {
            result[try String(storedValue: plainValue(ofObject: name))] = try plainValue(ofObject: value)
        }
        return .dictionary(result)
    }

    private func url(_ parts: [String: Int]) throws -> StoredValue {
        guard let relative = try reference(parts["NS.relative"]), let base = try reference(parts["NS.base"]) else {
            throw Self.damaged
        }
        let (text, baseText) = (try plainValue(ofObject: relative), try plainValue(ofObject: base))
        // The unarchiver rejects what `NSURL` rejects, which is more than what `URL` rejects.
        guard try NSURL(string: String(storedValue: text)) != nil else { throw Self.damaged }
        return try URL(storedValue: baseText == .null ? text : ["base": baseText, "relative": text]).storedValue()
    }

    // MARK: - Parts

    /// The index of the object that a reference refers to.
    private func reference(_ place: Int?) throws -> Int? {
        guard let place else { return nil }
        guard case .reference(let index) = list.objects[place], index < objects.count else { throw Self.damaged }
        return index
    }

    /// The indexes of the objects that an array refers to.
    func references(_ place: Int?) throws -> [Int] {
        guard let place, case .array(let places) = list.objects[place] else { throw Self.damaged }
        return try places.compactMap(reference)
    }

    /// The value at an index, stored directly or by reference.
    private func leaf(_ place: Int?) throws -> StoredValue {
        guard let place else { throw Self.damaged }
        if case .value(let value) = list.objects[place] { return value }
        guard let index = try reference(place), case .value(let value) = list.objects[objects[index]] else {
            throw Self.damaged
        }
        return value
    }
}
