// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// The contents of a settings file, read by Foundation's JSON parser.
struct Document {
    private let values: [String: Any]

    init(at path: String) throws {
        let object = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
        guard let values = object as? [String: Any] else { throw Failure("\(path) does not contain an object") }
        self.values = values
    }

    func integer(_ key: String) -> Int? {
        values[key] as? Int
    }

    /// The keys whose values differ from some contents of integers and strings.
    func differences(from contents: [String: StoredValue]) -> [String] {
        Set(values.keys).union(contents.keys).filter { stored($0) != contents[$0] }.sorted()
    }

    private func stored(_ key: String) -> StoredValue? {
        if let integer = values[key] as? Int { return .integer(Int128(integer)) }
        return (values[key] as? String).map { .string($0) }
    }
}
