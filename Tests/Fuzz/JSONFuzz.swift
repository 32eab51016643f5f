// SPDX-License-Identifier: Apache-2.0

// Compiled by `.ci/fuzz json` together with the library, as one module.

/// Parses bytes as JSON in both modes, writes and parses the result again, and edits them as a settings file.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // The fuzzer owns the bytes, which are valid until this function returns.
    let bytes = [UInt8](UnsafeBufferPointer(start: start, count: count))
    fuzzEdit(bytes)
    let value = outcome(of: bytes) { (bytes) throws(JSONSyntaxError) in try JSONReader.read(bytes) }
    let object = outcome(of: bytes) { (bytes) throws(JSONSyntaxError) in
        StoredValue.dictionary(try JSONReader.readObject(bytes))
    }
    if case .dictionary = value {
        expect(object == value, "reading an object gives another value")
    } else {
        expect(object == nil, "another value is read as an object")
    }
    guard let value else { return 0 }
    do {
        let text = try JSONWriter.compactText(of: value)
        let again = try JSONReader.read(text)
        expect(again == value, "text on one line is read as another value")
        let textAgain = try JSONWriter.compactText(of: again)
        expect(textAgain == text, "equal values are written differently")
        guard case .dictionary(let entries) = value else { return 0 }
        let file = try JSONWriter.prettyText(of: .dictionary(entries))
        let entriesAgain = try JSONReader.readObject(file)
        expect(entriesAgain == entries, "a written file is read as another value")
        let fileAgain = try JSONWriter.prettyText(of: .dictionary(entriesAgain))
        expect(fileAgain == file, "equal values are written as different files")
    } catch {
        expect(false, "a value cannot be written and read again: \(error)")
    }
    return 0
}

/// The value; `nil` for an invalid text, whose error has a valid place.
private func outcome(
    of bytes: [UInt8],
    _ read: ([UInt8]) throws(JSONSyntaxError) -> StoredValue
) -> StoredValue? {
    do {
        return try read(bytes)
    } catch {
        let isPlace = error.line >= 1 && error.column >= 1 && 0...bytes.count ~= error.offset
        expect(isPlace && !error.problem.isEmpty, "an error has no valid place: \(error)")
        return nil
    }
}

/// Texts with every kind of token, as initial inputs.
@_cdecl("LLVMFuzzerInitialize")
public func seedJSON(
    _ argumentCount: UnsafeMutablePointer<CInt>?,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> CInt {
    let nested = String(repeating: "[", count: 300)
    writeSeeds(
        [
            #"{"é😀": [true, false, null, -0, 12.5e-3, 170141183460469231731687303715884105727], "": 0.1}"#,
            #"{"text": "\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00 é😀", "nested": {"a": {"b": [[], {}, [{"c": 1e22}]]}}}"#,
            #"[-170141183460469231731687303715884105728, 1E+400, 5e-324, 1.7976931348623157e308, 0.1, 9007199254740993]"#,
            "\u{FEFF} {\"a\" :\t1 ,\r\n\"b\": [ ] }\r",
            "\"\u{301}\u{2028}\\u0000\"",
            nested + String(nested.map { _ in "]" }),
            "// top\n{ // a\n  // b\n\n  \"b\": [1, /* c */ 2,], // d\n  /* e */ \"a\": {\"x\": 1, /* y */ \"y\": {}}, // f\n  // g\n}\n",
            "{\r\n\t\"$schema\": \"x\",\r\n\t\"a\": { // b\r\n\t}, \"b\" :1e2 /* c */ }//",
            "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [\n      true\n    ]\n  }\n}\n",
        ]
        .map { Array($0.utf8) }
    )
    return 0
}
