// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettingsFoundation

/// A color with a name, which is a separate object in the archive.
final class Color: NSObject, NSSecureCoding, StoredValueConvertible {
    static var supportsSecureCoding: Bool { true }

    let red: Double
    let name: String

    init(red: Double, name: String) {
        self.red = red
        self.name = name
    }

    init?(coder: NSCoder) {
        red = coder.decodeDouble(forKey: "red")
        guard let name = coder.decodeObject(of: NSString.self, forKey: "name") else { return nil }
        self.name = String(describing: name)
    }

    func encode(with coder: NSCoder) {
        coder.encode(red, forKey: "red")
        coder.encode(NSString(string: name), forKey: "name")
    }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? Color else { return false }
        return red == other.red && name == other.name
    }

    override var hash: Int { name.hashValue }
}

/// A class whose archives imitate those of ``Color``, with an array as the name.
final class Impostor: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }

    override init() {}
    init?(coder: NSCoder) {}

    func encode(with coder: NSCoder) {
        coder.encode(0.5, forKey: "red")
        coder.encode(NSArray(array: [NSNumber(value: 1)]), forKey: "name")
    }
}

/// An open class, to test that subclasses inherit the conformance.
class Shape: NSObject, NSSecureCoding, StoredValueConvertible, @unchecked Sendable {
    class var supportsSecureCoding: Bool { true }

    let sides: Int

    init(sides: Int) {
        self.sides = sides
    }

    required init?(coder: NSCoder) {
        sides = coder.decodeInteger(forKey: "sides")
    }

    func encode(with coder: NSCoder) {
        coder.encode(sides, forKey: "sides")
    }
}

final class Square: Shape, @unchecked Sendable {}

/// A class that is also `Codable`.
final class Both: NSObject, NSSecureCoding, Codable, StoredValueConvertible {
    static var supportsSecureCoding: Bool { true }

    let count: Int

    init(count: Int) {
        self.count = count
    }

    init?(coder: NSCoder) {
        count = coder.decodeInteger(forKey: "count")
    }

    func encode(with coder: NSCoder) {
        coder.encode(count, forKey: "count")
    }
}

@Suite("Securely coded objects")
struct SecureCodingTests {
    private static func archive(_ object: Any) throws -> Data {
        try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
    }

    @Test("Row 19: a class that only declares the conformance is stored, also in collections")
    func declared() throws {
        let suite = SettingsSuite.inMemory()
        let red = Color(red: 1, name: "red")
        let setting = Setting("tint", default: red, suite: suite)
        setting.value = Color(red: 0.5, name: "pink")
        #expect(setting.value == Color(red: 0.5, name: "pink"))
        #expect(try suite[storedValueFor: "tint"]?.as(Data.self).isEmpty == false)
        let colors = Setting("tints", default: ["": [red]], suite: suite)
        try colors.set(["a": [red, Color(red: 0, name: "black")]])
        #expect(try colors.load() == ["a": [red, Color(red: 0, name: "black")]])
        let shape = Setting("shape", default: Shape(sides: 3), suite: suite)
        try shape.set(Square(sides: 4))
        #expect(shape.value is Square && shape.value.sides == 4)
    }

    @Test("Row 18: a class that is also Codable is stored as its structure, and as: selects the archive")
    func both() throws {
        let suite = SettingsSuite.inMemory()
        Setting("plain", default: Both(count: 0), suite: suite).value = Both(count: 7)
        #expect(suite[storedValueFor: "plain"] == ["count": 7])
        let archived = Setting(SettingKey("archived", default: Both(count: 0), as: SecureArchive()), suite: suite)
        archived.value = Both(count: 8)
        #expect(archived.value.count == 8)
        #expect(try suite[storedValueFor: "archived"]?.as(Data.self).isEmpty == false)
    }

    // With Objective-C, the compiler rejects these classes.
    #if !canImport(ObjectiveC)
    @Test("Row 19: a class without a name in Foundation is rejected, also as a part, and the default is read")
    func nameless() throws {
        func check<Value: NSSecureCoding & StoredValueConvertible & AnyObject>(_ value: Value) throws {
            let suite = SettingsSuite.inMemory(reporter: RecordingReporter())
            let setting = Setting("object", default: value, suite: suite)
            #expect(setting.value === value)
            let error = #expect(throws: SettingsError.self) { try setting.set(value) }
            #expect(error?.code == .unstorable)
            #expect(error?.remedy.contains("top level") == true)
            #expect(suite.snapshot().isEmpty)
        }
        try check(Nested(part: nil))
        try check(Private())
        try check(Whole(part: Nested(part: nil)))
    }
    #endif

    @Test("an object with a part without secure coding is rejected")
    func insecurePart() throws {
        expectError(.unstorable) { try Whole(part: Insec()).storedValue() }
    }

    @Test("equal objects are stored as equal bytes, which can be read, and assigning one is not a change")
    func equalBytes() throws {
        func make() -> Whole { Whole(part: Color(red: 0.5, name: "pink")) }
        let stored = try make().storedValue()
        for _ in 0..<50 { #expect(try make().storedValue() == stored) }
        let read = try Whole(storedValue: stored)
        #expect(read.part as? Color == Color(red: 0.5, name: "pink"))
        #expect(read.numbers == Whole.numbers)
        #expect(read.names == Whole.names)
        #expect(read.entries == Whole.entries)
        let suite = SettingsSuite.inMemory()
        let setting = Setting("whole", default: make(), suite: suite)
        setting.value = make()
        let changes = RecordingReporter()
        let observation = setting.observe { _ in changes.report(.invalidValue("notified")) }
        for _ in 0..<20 { setting.value = make() }
        #expect(changes.errors.isEmpty)
        observation.invalidate()
    }

    #if !canImport(ObjectiveC)
    /// A nested class.
    final class Nested: NSObject, NSSecureCoding, StoredValueConvertible, @unchecked Sendable {
        static var supportsSecureCoding: Bool { true }
        init(part: Any?) {}
        init?(coder: NSCoder) {}
        func encode(with coder: NSCoder) {}
    }
    #endif

    static let wrong: [(name: String, make: @Sendable () throws -> Data)] = [
        ("another class", { try archive(Impostor()) }),
        ("another class of Foundation", { try archive(NSArray(array: [NSNumber(value: 1)])) }),
        ("a plain value", { try archive(NSString(string: "text")) }),
        ("an unknown class", { try renamed("Gonor") }),
        ("a class without secure coding", { try renamed("Insec") }),
        ("a part of another class", { try disguised() }),
        (
            "an object that contains itself",
            { try archive(Color(red: 1, name: "red")).replacing([0x80, 2], with: [0x80, 1]) }
        ),
        ("no bytes", { Data() }), ("other bytes", { Data("bplist00 and nothing more, but long enough".utf8) }),
        (
            "another property list",
            { try PropertyListSerialization.data(fromPropertyList: ["a": 1], format: .binary, options: 0) }
        ),
    ]

    /// An archive of a ``Color`` with another class name of the same length.
    private static func renamed(_ name: String) throws -> Data {
        try archive(Color(red: 1, name: "red")).replacing(Array("Color".utf8), with: Array(name.utf8))
    }

    /// An archive of an ``Impostor`` with the class name of ``Color``, in which the name is an array.
    private static func disguised() throws -> Data {
        NSKeyedArchiver.setClassName(NSStringFromClass(Color.self), for: Impostor.self)
        defer { NSKeyedArchiver.setClassName(nil, for: Impostor.self) }
        return try archive(Impostor())
    }

    @Test("Row 19: a wrong or missing class in the archive is an error, never a crash", arguments: wrong.indices)
    func wrongClass(_ index: Int) throws {
        let (name, make) = Self.wrong[index]
        let reporter = RecordingReporter()
        let suite = SettingsSuite.inMemory(["tint": .data(try make())], reporter: reporter)
        let setting = Setting("tint", default: Color(red: 1, name: "red"), suite: suite)
        expectError(.invalidValue, "\(name)") { try setting.load() }
        #expect(setting.value.name == "red" && setting.isSet)
        #expect(reporter.errors.map(\.code) == [.invalidValue])
    }

    @Test("an archive with any changed byte decodes or is an error")
    func corruption() throws {
        let url = try #require(NSURL(string: "https://example.org/a"))
        let entries: NSDictionary = ["n": 1, "b": true, "s": ["t"], "day": NSDate(), "data": NSData(), "u": url]
        // Foundation logs every archive that it rejects, so few archives reach it.
        let objects = try corrupted(Color(red: 0.5, name: "pink"), rounds: 300) { _ = try Color(storedValue: $0) }
        let values = try corrupted(NSArray(object: entries), rounds: 5_000) {
            _ = try LegacyArchive<[StoredValue]>().value(from: $0)
        }
        #expect(objects > 30 && values > 500)
    }

    /// Reads damaged versions of an archive.
    ///
    /// - Returns: The number of errors.
    private func corrupted(_ object: Any, rounds: Int, _ read: (StoredValue) throws -> Void) throws -> Int {
        let archive = [UInt8](try Self.archive(object))
        var generator = SeededGenerator(seed: 19)
        var errors = 0
        for round in 0..<rounds {
            var bytes = archive
            for _ in 0...Int.random(in: 0...2, using: &generator) {
                bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            if round % 10 == 0 { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &generator)) }
            do {
                try read(.data(Data(bytes)))
            } catch is SettingsError {
                errors += 1
            }
        }
        return errors
    }
}

#if !canImport(ObjectiveC)
/// A private class.
private final class Private: NSObject, NSSecureCoding, StoredValueConvertible {
    static var supportsSecureCoding: Bool { true }
    override init() {}
    init?(coder: NSCoder) {}
    func encode(with coder: NSCoder) {}
}
#endif

/// An object with parts of many kinds.
///
/// Unchecked: the object is immutable.
final class Whole: NSObject, NSSecureCoding, StoredValueConvertible, @unchecked Sendable {
    static var supportsSecureCoding: Bool { true }
    static var numbers: NSArray { [0, 2, -1, 255, 256, 65_536, Int.max, Int.min, 0.5, true] }
    static var names: NSSet { NSSet(array: (0..<20).map { "name \($0)" } + ["é", "🙂"]) }
    static var entries: NSDictionary { ["a": 3, "b": "x", "c": NSDate(timeIntervalSinceReferenceDate: 7)] }

    let part: NSObject?
    let (numbers, names, entries): (NSArray?, NSSet?, NSDictionary?)

    init(part: NSObject?) {
        self.part = part
        // Copies that are filled in a different order, so that their contents have a different order too.
        let (names, entries) = (NSMutableSet(), NSMutableDictionary())
        for name in Self.names.allObjects.shuffled() { names.add(name) }
        for key in ["a", "b", "c"].shuffled() { entries[key] = Self.entries[key] }
        (numbers, self.names, self.entries) = (Self.numbers, names, entries)
    }

    init?(coder: NSCoder) {
        part = coder.decodeObject(of: Color.self, forKey: "part")
        numbers = coder.decodeObject(of: NSArray.self, forKey: "numbers")
        names = coder.decodeObject(of: NSSet.self, forKey: "names")
        entries = coder.decodeObject(of: NSDictionary.self, forKey: "entries")
    }

    func encode(with coder: NSCoder) {
        for (key, part) in ["part": part, "numbers": numbers, "names": names, "entries": entries] {
            coder.encode(part, forKey: key)
        }
    }
}

/// A class without `NSSecureCoding`, whose name is as long as `Color`.
final class Insec: NSObject, NSCoding {
    override init() {}
    init?(coder: NSCoder) {}
    func encode(with coder: NSCoder) {}
}

extension Data {
    /// Replaces bytes with the same number of other bytes.
    fileprivate func replacing(_ bytes: [UInt8], with others: [UInt8]) throws -> Data {
        var result = self
        var start = result.startIndex
        while let range = result.range(of: Data(bytes), in: start..<result.endIndex) {
            result.replaceSubrange(range, with: Data(others))
            start = range.upperBound
        }
        try #require(result != self && result.count == count)
        return result
    }
}
