// SPDX-License-Identifier: Apache-2.0

import StoredSettings

// Types whose stored values can lack a member.

struct Pace: Codable, Hashable, StoredValueConvertible {
    var perSecond = 100
    var burst = 20
    var note: String?
}

struct Service: Codable, Equatable, StoredValueConvertible {
    var name = "api"
    var pace = Pace()
    var night: Pace? = Pace(perSecond: 1, burst: 2)
    var list = [Pace()]
    var byRegion = ["eu": Pace()]
    var byCode = [1: Pace()]
    var set: Set<Pace> = [Pace()]
}

enum Limit: Codable, Equatable, StoredValueConvertible {
    case unlimited
    case paced(perSecond: Int, burst: Int)
    case shared(Pace)
}

/// A member whose type is stored as a raw value, and one whose stored form has members but no `Codable` container.
struct Mixed: Codable, Equatable, StoredValueConvertible {
    enum Mode: String, Codable { case fast, safe }

    var mode = Mode.safe
    var timeout = Duration.seconds(3)
    var any: StoredValue = ["a": 1, "b": 2]
}

struct Page<Element: Codable & Equatable & Sendable>: Codable, Equatable, StoredValueConvertible {
    var first: Element
    var second: Element
}

class Machine: Codable, @unchecked Sendable {
    let cores: Int
    let memory: Int

    init(cores: Int, memory: Int) { (self.cores, self.memory) = (cores, memory) }
}

/// A class that codes its superclass into a container of its own.
final class Server: Machine, StoredValueConvertible, Equatable, @unchecked Sendable {
    private enum CodingKeys: CodingKey { case rack, unit }

    let rack: Int
    let unit: Int

    init(cores: Int = 4, memory: Int = 16, rack: Int = 1, unit: Int = 2) {
        (self.rack, self.unit) = (rack, unit)
        super.init(cores: cores, memory: memory)
    }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        rack = try container.decode(Int.self, forKey: .rack)
        unit = try container.decode(Int.self, forKey: .unit)
        try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(rack, forKey: .rack)
        try container.encode(unit, forKey: .unit)
        try super.encode(to: container.superEncoder())
    }

    static func == (left: Server, right: Server) -> Bool {
        (left.cores, left.memory, left.rack, left.unit) == (right.cores, right.memory, right.rack, right.unit)
    }
}

/// A type that reads its older form itself, in three of the usual ways.
struct Renamed: Codable, Equatable, StoredValueConvertible {
    private enum CodingKeys: CodingKey { case level, oldLevel, size, oldSize, extra, required }

    var level = 1
    var size = 2
    var extra = 3
    var required = 4

    init(level: Int = 1, size: Int = 2, extra: Int = 3, required: Int = 4) {
        (self.level, self.size, self.extra, self.required) = (level, size, extra, required)
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        do {
            level = try container.decode(Int.self, forKey: .level)
        } catch DecodingError.keyNotFound {
            level = try container.decode(Int.self, forKey: .oldLevel)
        }
        size = try container.decode(Int.self, forKey: container.contains(.size) ? .size : .oldSize)
        extra = try container.decodeIfPresent(Int.self, forKey: .extra) ?? -1
        required = try container.decode(Int.self, forKey: .required)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(level, forKey: .level)
        try container.encode(size, forKey: .size)
        try container.encode(extra, forKey: .extra)
        try container.encode(required, forKey: .required)
    }
}

/// A type that tries one form after the other.
enum Either: Codable, Equatable, StoredValueConvertible {
    struct Full: Codable, Equatable {
        var id = 0
        var label = ""
    }
    struct Short: Codable, Equatable { var id = 0 }

    case full(Full)
    case short(Short)

    init(from decoder: any Decoder) throws {
        do {
            self = .full(try Full(from: decoder))
        } catch is DecodingError {
            self = .short(try Short(from: decoder))
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .full(let full): try full.encode(to: encoder)
        case .short(let short): try short.encode(to: encoder)
        }
    }
}

/// A type whose conversions are its own, and use those of a `Codable` type.
struct OwnConversion: Codable, Equatable, StoredValueConvertible {
    var pace = Pace()

    init(pace: Pace = Pace()) { self.pace = pace }
    init(storedValue: StoredValue) throws { pace = try Pace(storedValue: storedValue) }
    func storedValue() throws -> StoredValue { try pace.storedValue() }
}

/// A type whose conversion reads a part of its stored form, which has a member of the same name as the part.
struct Enclosed: Equatable, StoredValueConvertible {
    var pace = Pace()

    init() {}
    init(storedValue: StoredValue) throws { pace = try Pace(storedValue: storedValue["pace"] ?? nil) }
    func storedValue() throws -> StoredValue { ["pace": try pace.storedValue(), "perSecond": 7] }
}

/// A type that is stored as a `Codable` type.
struct Wrapped: StoredRepresentable, Equatable {
    var stored = Pace()
}

/// A bridge that uses the conversion of a `Codable` type.
struct PaceBridge: StoredValueBridge {
    func value(from storedValue: StoredValue) throws -> Pace { try Pace(storedValue: storedValue) }
    func storedValue(from value: Pace) throws -> StoredValue { try value.storedValue() }
}
