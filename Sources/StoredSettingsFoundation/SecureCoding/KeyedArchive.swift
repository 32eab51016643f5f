// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// An archive of one object, which is checked before any object is created from it.
///
/// On Linux, `NSKeyedUnarchiver` ends the process for an unexpected class, an unknown class, and an object that
/// contains itself. So these checks come first: each class in the archive exists and supports secure coding, and the
/// root object has the expected class.
struct KeyedArchive {
    private let bytes: Data
    let list: BinaryPropertyList
    /// The indexes of the objects in the archive's own order.
    let objects: [Int]
    /// The index of the root object.
    let root: Int

    /// The maximum nesting of arrays, dictionaries and references, because Foundation recurses.
    private static let maximumDepth = 300

    /// Reads an archive.
    ///
    /// - Throws: `SettingsError` if the bytes are not an archive.
    init(_ bytes: Data) throws {
        do {
            let list = try BinaryPropertyList([UInt8](bytes))
            guard let archive = list.dictionary(at: list.root), let objects = archive["$objects"],
                case .array(let places) = list.objects[objects],
                let archiver = archive["$archiver"], list.string(at: archiver) == "NSKeyedArchiver",
                let top = archive["$top"].flatMap({ list.dictionary(at: $0) }), let first = top["root"],
                case .reference(let root) = list.objects[first], root < places.count
            else { throw BinaryPropertyList.Malformed() }
            (self.bytes, self.list, self.objects, self.root) = (bytes, list, places, root)
        } catch {
            throw SettingsError.invalidValue("the bytes are not a keyed archive of an object")
        }
    }

    /// Decodes the object.
    ///
    /// - Parameters:
    ///   - classes: The expected classes; the object's class is one of them or a subclass.
    ///   - isExpected: Returns whether a class is one of them.
    /// - Returns: The object.
    /// - Throws: `SettingsError` if the object has another class or cannot be decoded.
    func object(of classes: [AnyClass], where isExpected: (AnyClass) -> Bool) throws -> Any {
        try checkDepth()
        for index in objects.indices { try checkClass(ofObject: index) }
        try checkRoot(classes, isExpected)
        return try unarchived(classes)
    }

    private func unarchived(_ classes: [AnyClass]) throws -> Any {
        do {
            let unarchiver = try NSKeyedUnarchiver(forReadingFrom: bytes)
            unarchiver.decodingFailurePolicy = .setErrorAndReturn
            defer { unarchiver.finishDecoding() }
            #if canImport(ObjectiveC)
            unarchiver.requiresSecureCoding = true
            #endif
            // On Linux, the unarchiver ends the process if a part has a class that its object does not expect. All
            // classes are allowed here, so the object receives the part, whose class supports secure coding, and
            // rejects it.
            let object = unarchiver.decodeObject(of: classes, forKey: NSKeyedArchiveRootObjectKey)
            if let error = unarchiver.error { throw error }
            guard let object else { throw BinaryPropertyList.Malformed() }
            return object
        } catch {
            // Foundation's error is not helpful, and may contain a value.
            throw SettingsError.invalidValue("the archive lacks data that its class needs")
        }
    }
}

// MARK: - Checks

extension KeyedArchive {
    private func checkRoot(_ classes: [AnyClass], _ isExpected: (AnyClass) -> Bool) throws {
        // Strings and numbers are archived without a class. An archive of only a plain value is not supported.
        guard let name = try className(ofObject: root) else {
            throw SettingsError.invalidValue("the archive holds a plain value instead of an object")
        }
        guard let found = Self.class(named: name), isExpected(found) else {
            throw SettingsError.invalidValue(
                "the archive holds an object of class \(name) instead of class \(classes[0])"
            )
        }
    }

    private func checkClass(ofObject index: Int) throws {
        guard let name = try className(ofObject: index) else { return }
        guard let found = Self.class(named: name) else {
            throw SettingsError.invalidValue(
                "the archive holds an object of class \(name), which this program does not have"
            )
        }
        guard let secure = found as? any NSSecureCoding.Type, secure.supportsSecureCoding else {
            throw SettingsError.invalidValue(
                "the archive holds an object of class \(name), which does not support secure coding"
            )
        }
        if found is NSDictionary.Type { try checkEntries(ofObject: index) }
    }

    /// Checks the entries of a dictionary.
    ///
    /// Foundation reads out of bounds if there are more keys than values or if a value cannot be decoded.
    ///
    /// Plain values are checked. An object of the program's own class in a dictionary has to be trusted.
    private func checkEntries(ofObject index: Int) throws {
        let parts = list.dictionary(at: objects[index]) ?? [:]
        let (names, values) = (try references(parts["NS.keys"]), try references(parts["NS.objects"]))
        guard names.count == values.count else { throw Self.damaged }
        for entry in names + values where try className(ofObject: entry).map(Self.plainClassNames.contains) ?? true {
            guard try plainValue(ofObject: entry) != .null else { throw Self.damaged }
        }
    }

    /// The name of an object's class; `nil` for a plain value.
    func className(ofObject index: Int) throws -> String? {
        guard case .dictionary = list.objects[objects[index]] else { return nil }
        guard let entries = list.dictionary(at: objects[index]) else { throw Self.damaged }
        guard let reference = entries["$class"] else {
            // A class description is the only dictionary that is not an object.
            guard entries["$classname"] != nil else { throw Self.damaged }
            return nil
        }
        guard case .reference(let place) = list.objects[reference], place < objects.count,
            let description = list.dictionary(at: objects[place]), let name = description["$classname"],
            let text = list.string(at: name)
        else { throw Self.damaged }
        return text
    }

    /// Follows all paths through the archive, including references.
    func checkDepth() throws {
        var work = [(place: list.root, levels: Self.maximumDepth)]
        // An object is visited once per path to it. Only malicious archives have many paths.
        var steps = 0
        while let (place, levels) = work.popLast() {
            steps += 1
            guard levels > 0, steps < 1_000_000 else {
                throw SettingsError.invalidValue(
                    "the objects of the archive contain each other or are nested too deeply"
                )
            }
            switch list.objects[place] {
            case .value: break
            case .reference(let index):
                guard index < objects.count else { throw Self.damaged }
                work.append((objects[index], levels - 1))
            case .array(let places): work += places.map { ($0, levels - 1) }
            case .dictionary(let entries): work += entries.map { ($0.value, levels - 1) }
            }
        }
    }

    static var damaged: SettingsError { .invalidValue("the archive is damaged") }

    private static func `class`(named name: String) -> AnyClass? {
        NSKeyedUnarchiver.class(forClassName: name) ?? NSClassFromString(name)
    }
}
