// SPDX-License-Identifier: Apache-2.0

// Compiled by `.ci/fuzz json` together with the library, as one module.

/// Reads bytes as a settings file, with comments, and edits its text.
func fuzzEdit(_ bytes: [UInt8]) {
    // It must not trap on a file that is not valid.
    for offset in bytes.indices.prefix(64) {
        let tokens = JSONTokens(bytes: bytes)
        expect(tokens.endOfValue(at: offset) <= bytes.count, "a value ends behind the text")
        expect(tokens.endOfSpace(from: offset) <= bytes.count, "white space ends behind the text")
    }
    let text: SettingsFileText
    do throws(JSONSyntaxError) {
        text = try SettingsFileText(bytes)
    } catch {
        let isPlace = error.line >= 1 && error.column >= 1 && 0...bytes.count ~= error.offset
        expect(isPlace && !error.problem.isEmpty, "an error has no valid place: \(error)")
        return
    }
    var numbers = Numbers(bytes)
    let new = numbers.changed(text.contents, depth: 3)
    do {
        // It throws if the result is read as anything else.
        let result = try text.changed(to: new, path: FilePath("/settings.json"))
        let again = try SettingsFileText(result)
        expect(again.contents == new, "an edited text is read as other values")
        let unchanged = try again.changed(to: new, path: FilePath("/settings.json"))
        expect(unchanged == result, "an edit without changes has changed the text")
        expect(result.count { $0 == 0 } == 0, "an edited text contains a NUL")
        if try text.isCanonical {
            let written = try JSONWriter.prettyText(of: .dictionary(new))
            expect(result == written, "an edit of a canonical text is not canonical")
        }
    } catch let error as SettingsError where error.code == .unstorable {
        // The nesting of a new value is too deep in its place.
    } catch {
        expect(false, "a text cannot be edited: \(error)")
    }
}

/// Numbers that depend on the input only.
private struct Numbers {
    private var state: UInt64

    init(_ bytes: [UInt8]) {
        state = SettingsFile.checksum(of: bytes)
    }

    private mutating func next(below bound: UInt64) -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state >> 33) % bound
    }

    /// Removes, changes and adds some values.
    mutating func changed(_ contents: [String: StoredValue], depth: Int) -> [String: StoredValue] {
        var result: [String: StoredValue] = [:]
        let removals = next(below: 4)
        // The order of a dictionary differs between processes.
        for name in contents.keys.sorted() {
            guard let value = contents[name], next(below: 4) >= removals else { continue }
            switch (next(below: 3), value) {
            case (0, _): result[name] = value
            case (_, .dictionary(let entries)) where depth > 0:
                result[name] = .dictionary(changed(entries, depth: depth - 1))
            case (1, _): result[name] = .array([value])
            default: result[name] = .string("// \(next(below: 9))")
            }
        }
        let names = ["", "a", "b", "zz", "é", "\"\n"]
        for _ in 0..<next(below: 3) {
            let name = names[Int(next(below: UInt64(names.count)))]
            if result[name] == nil { result[name] = depth > 0 ? ["x": [1, [:]]] : 2 }
        }
        return result
    }
}
