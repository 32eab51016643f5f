// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// An archive of one object, looked through before anything is made from it.
///
/// On Linux `NSKeyedUnarchiver` ends the process when an archive holds another class than is expected, or one that there is
/// not, and when an object contains itself. So all of that is seen to here, and the unarchiver then gets nothing it could
/// stumble over: each class in the archive exists and supports secure coding, and the outermost object has the right one.
struct KeyedArchive {
    private let bytes: Data
    let list: BinaryPropertyList
    /// The places of the objects in the archive's own order.
    let objects: [Int]
    /// The number of the outermost object.
    let root: Int

    /// How many arrays, dictionaries and references may be nested in one another: Foundation recurses.
    private static let maximumDepth = 300

    /// Reads an archive.
    ///
    /// - Throws: `SettingsError` when the bytes are not one.
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
            throw SettingsError.invalidValue("the bytes are no keyed archive of an object")
        }
    }

    /// Makes the object again.
    ///
    /// - Parameters:
    ///   - classes: The classes of which one is the object's, or its class's ancestor.
    ///   - isExpected: Tells whether a class is among them.
    /// - Returns: The object.
    /// - Throws: `SettingsError` when it is of another class, or cannot be made.
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
            // On Linux the unarchiver would end the process for a class that an object does not expect in one of its own
            // parts. Here it gives that part, which is of a class that supports secure coding, and the object refuses it.
            let object = unarchiver.decodeObject(of: classes, forKey: NSKeyedArchiveRootObjectKey)
            if let error = unarchiver.error { throw error }
            guard let object else { throw BinaryPropertyList.Malformed() }
            return object
        } catch {
            // The error of Foundation is no help, and may hold a value.
            throw SettingsError.invalidValue("the archive does not hold what its class needs")
        }
    }
}

// MARK: - What is looked at

extension KeyedArchive {
    private func checkRoot(_ classes: [AnyClass], _ isExpected: (AnyClass) -> Bool) throws {
        // Strings and numbers are archived as they are. Nobody archives just that, or wants it.
        guard let name = try className(ofObject: root) else {
            throw SettingsError.invalidValue("the archive holds a plain value and no object")
        }
        guard let found = Self.class(named: name), isExpected(found) else {
            throw SettingsError.invalidValue(
                "the archive holds an object of class \(name) and not of class \(classes[0])"
            )
        }
    }

    private func checkClass(ofObject index: Int) throws {
        guard let name = try className(ofObject: index) else { return }
        guard let found = Self.class(named: name) else {
            throw SettingsError.invalidValue(
                "the archive holds an object of class \(name), which this program has not got"
            )
        }
        guard let secure = found as? any NSSecureCoding.Type, secure.supportsSecureCoding else {
            throw SettingsError.invalidValue(
                "the archive holds an object of class \(name), which is not securely coded"
            )
        }
        if found is NSDictionary.Type { try checkEntries(ofObject: index) }
    }

    /// Foundation reads beyond its memory when a dictionary has more names than values, or one of them cannot be made.
    ///
    /// Plain values are seen to be in order. An object of the program's own in a dictionary has to be taken on trust.
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
            // The description of a class is the one dictionary that is no object.
            guard entries["$classname"] != nil else { throw Self.damaged }
            return nil
        }
        guard case .reference(let place) = list.objects[reference], place < objects.count,
            let description = list.dictionary(at: objects[place]), let name = description["$classname"],
            let text = list.string(at: name)
        else { throw Self.damaged }
        return text
    }

    /// Follows all ways through the archive, the references too.
    func checkDepth() throws {
        var work = [(place: list.root, levels: Self.maximumDepth)]
        // An object is looked at once for each way to it, of which there are many only in archives made to be so.
        var steps = 0
        while let (place, levels) = work.popLast() {
            steps += 1
            guard levels > 0, steps < 1_000_000 else {
                throw SettingsError.invalidValue(
                    "the objects of the archive contain one another, or are nested too deep"
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
