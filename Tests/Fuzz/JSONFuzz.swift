// SPDX-License-Identifier: Apache-2.0

// Compiled by `.ci/fuzz json` together with the library, as one module.

/// Reads some bytes as JSON in both ways, and writes and reads again what they hold.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // The bytes are the fuzzer's, which holds them until this function returns.
    let bytes = [UInt8](UnsafeBufferPointer(start: start, count: count))
    let value = outcome(of: bytes) { (bytes) throws(JSONSyntaxError) in try JSONReader.read(bytes) }
    let object = outcome(of: bytes) { (bytes) throws(JSONSyntaxError) in
        StoredValue.dictionary(try JSONReader.readObject(bytes))
    }
    if case .dictionary = value {
        expect(object == value, "an object is read as something else where an object is wanted")
    } else {
        expect(object == nil, "what is no object is read as one")
    }
    guard let value else { return 0 }
    do {
        let text = try JSONWriter.compactText(of: value)
        let again = try JSONReader.read(text)
        expect(again == value, "what was written on one line is read as something else")
        let textAgain = try JSONWriter.compactText(of: again)
        expect(textAgain == text, "equal values are written as different texts")
        guard case .dictionary(let entries) = value else { return 0 }
        let file = try JSONWriter.text(of: entries)
        let entriesAgain = try JSONReader.readObject(file)
        expect(entriesAgain == entries, "what was written as a file is read as something else")
        let fileAgain = try JSONWriter.text(of: entriesAgain)
        expect(fileAgain == file, "equal values are written as different files")
    } catch {
        expect(false, "what was read cannot be written and read again: \(error)")
    }
    return 0
}

/// What is read; `nil` for a text that is refused, at a place within it.
private func outcome(
    of bytes: [UInt8],
    _ read: ([UInt8]) throws(JSONSyntaxError) -> StoredValue
) -> StoredValue? {
    do {
        return try read(bytes)
    } catch {
        let isPlace = error.line >= 1 && error.column >= 1 && 0...bytes.count ~= error.offset
        expect(isPlace && !error.problem.isEmpty, "an error is at no place: \(error)")
        return nil
    }
}

/// Texts with every kind of token in them, which the fuzzer begins with.
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
        ]
        .map { Array($0.utf8) }
    )
    return 0
}
