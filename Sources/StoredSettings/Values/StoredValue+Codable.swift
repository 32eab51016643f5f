// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension StoredValue: Encodable {
    /// Encodes the value in its natural shape, with any encoder.
    ///
    /// ``StoredValueEncoder`` preserves it exactly. Other encoders receive strings for dates, bytes and the numbers
    /// that JSON cannot represent. An integer that is too wide for the other encoder makes the encoding fail.
    public func encode(to encoder: any Encoder) throws {
        if encoder is NodeEncoder {
            var container = encoder.singleValueContainer()
            return try container.encode(self)
        }
        switch self {
        case .array(let elements):
            try encoder.checkDepth(of: self)
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .dictionary(let entries):
            try encoder.checkDepth(of: self)
            var container = encoder.container(keyedBy: PlainCodingKey.self)
            for (name, value) in entries { try container.encode(value, forKey: PlainCodingKey(stringValue: name)) }
        default:
            var container = encoder.singleValueContainer()
            switch storedAsJSON {
            case .bool(let value): try container.encode(value)
            case .string(let value): try container.encode(value)
            case .double(let value): try container.encode(value)
            case .integer(let value):
                // The narrowest type that fits, because few encoders support `Int128`.
                if let narrow = Int64(exactly: value) {
                    try container.encode(narrow)
                } else if let narrow = UInt64(exactly: value) {
                    try container.encode(narrow)
                } else {
                    try container.encode(value)
                }
            default: try container.encodeNil()
            }
        }
    }
}

extension StoredValue: Decodable {
    /// Decodes a value of any shape, with any decoder.
    ///
    /// ``StoredValueDecoder`` preserves it exactly. With other decoders, a number is an integer if the decoder can
    /// decode it as one, and dates and bytes are strings.
    public init(from decoder: any Decoder) throws {
        if decoder is NodeDecoder {
            self = try decoder.singleValueContainer().decode(StoredValue.self)
            return
        }
        if let scalar = Self.scalar(in: decoder) {
            self = scalar
        } else if var container = attempt({ try decoder.unkeyedContainer() }) {
            try decoder.checkDepth()
            var elements: [StoredValue] = []
            while !container.isAtEnd { elements.append(try container.decode(StoredValue.self)) }
            self = .array(elements)
        } else {
            let container = try decoder.container(keyedBy: PlainCodingKey.self)
            try decoder.checkDepth()
            var entries: [String: StoredValue] = [:]
            for key in container.allKeys {
                entries[key.stringValue] = try container.decode(StoredValue.self, forKey: key)
            }
            self = .dictionary(entries)
        }
    }

    private static func scalar(in decoder: any Decoder) -> StoredValue? {
        guard let container = attempt({ try decoder.singleValueContainer() }) else { return nil }
        if container.decodeNil() { return .null }
        if let value = attempt({ try container.decode(Bool.self) }) { return .bool(value) }
        if let value = attempt({ try container.decode(Int64.self) }) { return .integer(Int128(value)) }
        if let value = attempt({ try container.decode(UInt64.self) }) { return .integer(Int128(value)) }
        if let value = attempt({ try container.decode(Int128.self) }) { return .integer(value) }
        if let value = attempt({ try container.decode(Double.self) }) { return .double(value) }
        if let value = attempt({ try container.decode(String.self) }) { return .string(value) }
        return nil
    }
}

/// Returns the result of one way to decode a value; `nil` when the decoder throws, so that another way can be tried.
private func attempt<Result>(_ read: () throws -> Result) -> Result? {
    do {
        return try read()
    } catch {
        // An error of any type counts: Foundation's JSON decoder throws its own type when a number does not fit.
        return nil
    }
}

extension Encoder {
    fileprivate func checkDepth(of value: StoredValue) throws {
        guard codingPath.count > CodingPlace.depthLimit else { return }
        throw EncodingError.stating(.tooDeep, writing: value, at: codingPath)
    }
}

extension Decoder {
    fileprivate func checkDepth() throws {
        guard codingPath.count > CodingPlace.depthLimit else { return }
        throw DecodingError.dataCorrupted(.init(SettingsError.tooDeep, at: codingPath))
    }
}
