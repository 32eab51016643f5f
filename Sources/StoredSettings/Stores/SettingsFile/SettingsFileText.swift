// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "A checkpoint edits the text of the file".

/// The text of a settings file, which people edit.
package struct SettingsFileText {
    private let bytes: [UInt8]
    /// The stored values, without the reserved members, of which a checkpoint changes no `$schema`.
    package let contents: [String: StoredValue]
    /// The last good values of keys whose values were not used, in a last good copy; `nil` for no value.
    package let lastGood: [String: StoredValue?]
    /// The member that has these values; `nil` in a file without it.
    private let lastGoodMember: StoredValue?
    /// - Throws: ``JSONSyntaxError`` if the text is not valid.
    package init(_ bytes: [UInt8], _ dialect: JSONReader.Dialect = .settingsFile) throws(JSONSyntaxError) {
        self.bytes = bytes
        var contents = try JSONReader.readObject(bytes, dialect)
        lastGoodMember = contents[StoredValue.lastGoodKey]
        lastGood = Self.lastGood(in: lastGoodMember)
        contents.removeReserved()
        self.contents = contents
    }

    /// Whether the library writes the same text for these contents.
    ///
    /// Such a text need not be edited: it has no comments, and its order and format are those of a new text.
    package var isCanonical: Bool {
        get throws { try Self.text(of: contents) == bytes }
    }

    /// The keys of a last good copy whose stored values a program could not use, sorted.
    package var unusableKeys: [String] { lastGood.keys.filter { contents.value(forKey: $0) != nil }.sorted() }

    /// Whether the text is a last good copy as this library writes it.
    package var isCopy: Bool {
        do {
            return try Self.copy(of: Self.text(of: contents), lastGood: lastGood) == bytes
        } catch {
            // The library writes no values that are nested so deeply.
            return false
        }
    }

    /// Returns the text of a file that is written anew.
    static func text(of contents: [String: StoredValue]) throws -> [UInt8] {
        var contents = contents
        contents.removeReserved()
        return try JSONWriter.prettyText(of: .dictionary(contents))
    }

    /// Returns the text of a last good copy: a canonical text, with the last good values of unusable ones as its first member.
    ///
    /// - Throws: ``SettingsError`` if a value is nested too deeply.
    static func copy(of contents: [UInt8], lastGood: [String: StoredValue?]) throws -> [UInt8] {
        guard !lastGood.isEmpty else { return contents }
        var member = lastGood.compactMapValues(\.self)
        let missing = lastGood.filter { $0.value == nil }.keys.sorted()
        if !missing.isEmpty { member[Self.missingKey] = .array(missing.map(StoredValue.string)) }
        let values = try JSONWriter.text(of: .dictionary(member), nil, level: 1)
        // The first line of the contents is the opening brace, unless they are empty.
        let isEmpty = contents.starts(with: "{}".utf8)
        return startOfLastGood + values + (isEmpty ? Array("\n}\n".utf8) : Array(",\n".utf8) + contents.dropFirst(2))
    }

    /// The name under which the last good values list the keys that had none: no key is empty.
    private static let missingKey = ""

    private static func lastGood(in member: StoredValue?) -> [String: StoredValue?] {
        guard case .dictionary(var values) = member else { return [:] }
        let missing = values.removeValue(forKey: missingKey)
        var lastGood = values.mapValues(Optional.some)
        if case .array(let keys) = missing {
            for case .string(let key) in keys { lastGood.updateValue(nil, forKey: key) }
        }
        return lastGood
    }

    /// The first bytes of a copy with such values, and of no other.
    static let startOfLastGood = Array("{\n  \"\(StoredValue.lastGoodKey)\": ".utf8)

    /// Returns the text with other values, in which nothing else has changed.
    ///
    /// - Returns: The new text, which is read as the new contents.
    /// - Throws: ``SettingsError`` if a value has no JSON form.
    func changed(to new: [String: StoredValue], path: FilePath) throws -> [UInt8] {
        var new = new
        new.removeReserved()
        if new == contents, lastGoodMember == nil { return bytes }
        // A copy that a person has put in place of the file may have this member, which must not survive there.
        var old = contents
        old[StoredValue.lastGoodKey] = lastGoodMember
        var editor = JSONEditor(bytes, reservedNames: [StoredValue.schemaKey])
        let text = try editor.text(changing: old, to: new)
        // The journal loses its records once the file is in place, so the result is read first.
        let result: [String: StoredValue]
        do {
            result = try Self(text).contents
        } catch {
            throw SettingsError.uneditableText(path, because: error)
        }
        guard result == new.mapValues(\.storedAsJSON) else { throw SettingsError.uneditableText(path) }
        return text
    }
}

extension [String: StoredValue] {
    /// Removes the values of reserved keys.
    fileprivate mutating func removeReserved() {
        for key in StoredValue.reservedKeys where self[key] != nil { self[key] = nil }
    }
}

extension SettingsFile {
    /// Returns the text of a draft.
    ///
    /// - Returns: The text, and whether it is the canonical one; `nil` when the file has changed since it was read, and is
    ///   no longer valid.
    /// - Throws: ``SystemError`` if the file cannot be read, or ``SettingsError``.
    func text(
        of contents: [String: StoredValue],
        _ canonical: [UInt8],
        replacing current: Reading?
    ) throws -> (bytes: [UInt8], isCanonical: Bool)? {
        guard let current, !current.isCanonical else { return (canonical, true) }
        let bytes = try system.contents(of: current.handle, limit: Self.longestFile)
        let text: SettingsFileText
        do throws(JSONSyntaxError) {
            text = try SettingsFileText(bytes)
        } catch {
            return nil
        }
        if try text.isCanonical { return (canonical, true) }
        return (try text.changed(to: contents, path: path), false)
    }
}
