// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The contents of a settings file, read by Foundation's JSON parser.
func document(at path: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path))) as? [String: Any])
}
