// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension StoredValue: Encodable {
    /// Encodes the value in its natural shape, with any encoder.
    ///
    /// ``StoredValueEncoder`` keeps it exactly as it is. Elsewhere dates and bytes become text, and so do numbers that
    /// JSON has not got; an integer that the other encoder has no room for fails.
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
            try encodeScalar(to: &container)
        }
    }

    private func encodeScalar(to container: inout any SingleValueEncodingContainer) throws {
        switch self {
        case .null, .array, .dictionary: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .date(let value): try container.encode(DateText.text(for: value))
        case .data(let value): try container.encode(value.base64EncodedString())
        case .double(let value) where value.isFinite: try container.encode(value)
        case .double(let value): try container.encode(value.storedText)
        case .integer(let value):
            // The narrowest that fits: few coders know the widest.
            if let narrow = Int64(exactly: value) {
                try container.encode(narrow)
            } else if let narrow = UInt64(exactly: value) {
                try container.encode(narrow)
            } else {
                try container.encode(value)
            }
        }
    }
}

extension StoredValue: Decodable {
    /// Decodes whatever there is, with any decoder.
    ///
    /// ``StoredValueDecoder`` gives it exactly as it is. Elsewhere a number without a fraction is an integer wherever the
    /// decoder says so, and dates and bytes are the text that they are there.
    public init(from decoder: any Decoder) throws {
        if decoder is NodeDecoder {
            self = try decoder.singleValueContainer().decode(StoredValue.self)
            return
        }
        if let scalar = try Self.scalar(in: decoder) {
            self = scalar
        } else if var container = try attempt({ try decoder.unkeyedContainer() }) {
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

    private static func scalar(in decoder: any Decoder) throws -> StoredValue? {
        guard let container = try attempt({ try decoder.singleValueContainer() }) else { return nil }
        if container.decodeNil() { return .null }
        if let value = try attempt({ try container.decode(Bool.self) }) { return .bool(value) }
        if let value = try attempt({ try container.decode(Int64.self) }) { return .integer(Int128(value)) }
        if let value = try attempt({ try container.decode(UInt64.self) }) { return .integer(Int128(value)) }
        if let value = try attempt({ try container.decode(Int128.self) }) { return .integer(value) }
        if let value = try attempt({ try container.decode(Double.self) }) { return .double(value) }
        if let value = try attempt({ try container.decode(String.self) }) { return .string(value) }
        return nil
    }
}

/// The result of one reading among several, or nil where the decoder says that the value is something else.
private func attempt<Result>(_ read: () throws -> Result) throws -> Result? {
    do {
        return try read()
    } catch {
        // Of any type: the JSON decoder of Foundation throws one of its own where a number does not fit.
        return nil
    }
}

extension Encoder {
    fileprivate func checkDepth(of value: StoredValue) throws {
        guard codingPath.count > CodingPlace.depthLimit else { return }
        let context = EncodingError.Context(
            codingPath: codingPath,
            debugDescription: SettingsError.tooDeep.fact,
            underlyingError: SettingsError.tooDeep
        )
        throw EncodingError.invalidValue(value, context)
    }
}

extension Decoder {
    fileprivate func checkDepth() throws {
        guard codingPath.count > CodingPlace.depthLimit else { return }
        let context = DecodingError.Context(
            codingPath: codingPath,
            debugDescription: SettingsError.tooDeep.fact,
            underlyingError: SettingsError.tooDeep
        )
        throw DecodingError.dataCorrupted(context)
    }
}
