// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsCommand

/// Settings files by which `.ci/check-schema` compares the library's schema, in another validator, with the library.
///
///     settings-probe schema cases
enum SchemaCases {
    enum Level: String, CaseIterable, StoredValueConvertible { case debug, info }
    enum Rank: Int, CaseIterable, StoredValueConvertible {
        case low = 1
        case high
    }
    struct Name: RawRepresentable, StoredValueConvertible, Sendable { var rawValue: String }
    struct Limits: Codable, StoredValueConvertible { var burst = 1 }

    enum Mode: Codable {
        case off
        case paced(rate: Int)
    }

    enum Tone: String, Codable, CaseIterable { case low, high }

    /// A structure with members of many types.
    struct Service: Codable, StoredValueConvertible {
        var bool = true
        var int = 1
        var int8: Int8 = 1
        var uint8: UInt8 = 1
        var uint16: UInt16 = 1
        var double = 0.5
        var string = "text"
        var date = Date(timeIntervalSince1970: 0)
        var data = Data([1])
        var url = URL(string: "https://example.org")!
        var uuid = UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255))
        var duration = Duration.seconds(1)
        var tone = Tone.low
        var absent: Int?
        var present: Int? = 5
        var list = [1]
        var labels = ["a": "b"]
        var mode = Mode.off
        var limits = Limits()
        var backup: Limits? = Limits()
    }

    struct UnixSeconds: StoredValueBridge {
        func value(from storedValue: StoredValue) throws -> Date {
            Date(timeIntervalSince1970: try storedValue.as(Double.self))
        }

        func storedValue(from value: Date) -> StoredValue { .double(value.timeIntervalSince1970) }
    }

    /// A setting of every type that can be stored.
    struct Settings {
        @DefaultStorage(key: "bool") var bool = true
        @DefaultStorage(key: "int", in: 1...65_535) var int = 8080
        @DefaultStorage(key: "int8") var int8: Int8 = -1
        @DefaultStorage(key: "int16") var int16: Int16 = -1
        @DefaultStorage(key: "int32", in: ..<100) var int32: Int32 = -1
        @DefaultStorage(key: "int64", in: 0...) var int64: Int64 = 1
        @DefaultStorage(key: "int128") var int128: Int128 = .min
        @DefaultStorage(key: "uint") var uint: UInt = 1
        @DefaultStorage(key: "uint8") var uint8: UInt8 = 1
        @DefaultStorage(key: "uint16") var uint16: UInt16 = 1
        @DefaultStorage(key: "uint32") var uint32: UInt32 = 1
        @DefaultStorage(key: "uint64") var uint64: UInt64 = .max
        @DefaultStorage(key: "uint128") var uint128: UInt128 = .max
        @DefaultStorage(key: "double", in: 0..<1) var double = 0.5
        @DefaultStorage(key: "infinite") var infinite = -Double.infinity
        @DefaultStorage(key: "float") var float: Float = .nan
        @DefaultStorage(key: "string") var string = "text"
        @DefaultStorage(key: "date") var date = Date(timeIntervalSince1970: 0.25)
        @DefaultStorage(key: "data") var data = Data([0, 255, 62])
        @DefaultStorage(key: "url") var url = URL(fileURLWithPath: "/tmp/x")
        @DefaultStorage(key: "relative") var relative = URL(
            string: "a/b",
            relativeTo: URL(string: "https://example.org")
        )!
        @DefaultStorage(key: "uuid") var uuid = UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255))
        @DefaultStorage(key: "decimal") var decimal = Decimal(string: "-1.5e30")!
        @DefaultStorage(key: "duration") var duration = Duration.milliseconds(-1_500)
        @DefaultStorage(key: "level") var level = Level.info
        @DefaultStorage(key: "rank") var rank = Rank.low
        @DefaultStorage(key: "name") var name = Name(rawValue: "n")
        @DefaultStorage(key: "limits") var limits = Limits()
        @DefaultStorage(key: "service") var service = Service()
        @DefaultStorage(key: "maybe") var maybe: Int? = nil
        @DefaultStorageOptional(key: "absent", in: 1...3) var absent: Int?
        @DefaultStorage(key: "list") var list = [1, 2]
        @DefaultStorage(key: "set") var set: Set<String> = ["b", "a"]
        @DefaultStorage(key: "levels") var levels: [String: [Level]] = ["x": [.debug]]
        @DefaultStorage(key: "range") var range = 1...5
        @DefaultStorage(key: "any") var any: StoredValue = ["x": [1, nil]]
        @DefaultStorage(key: "bridged", as: UnixSeconds()) var bridged = Date(timeIntervalSince1970: 1)
        @DefaultStorage(key: "renamed", traits: .renamed(from: "old")) var renamed = 1
        @DefaultStorage(key: "db.port", in: 1...65_535) var port = 5432
        @DefaultStorage(key: "db.pool.size", traits: .renamed(from: "db.size")) var poolSize = 4
        @DefaultStorage(key: "db.pool.limits") var poolLimits = Limits()
    }

    private static let acceptedMembers: [(String, [StoredValue])] = [
        ("bool", [false]), ("int", [-5, .double(2)]), ("double", [1, "inf"]), ("date", ["2026-11-21T13:00:00+01:00"]),
        ("duration", ["3m", 5]), ("tone", ["high"]), ("absent", [nil, 7]), ("present", [nil, 7]), ("list", [[]]),
        ("labels", [[:], ["x": "y"]]), ("mode", [["paced": ["rate": 5]]]), ("limits", [["burst": 5], [:]]),
        ("backup", [nil, ["burst": 2]]),
    ]

    private static let rejectedMembers: [(String, [StoredValue])] = [
        ("bool", [1, "true", nil, []]), ("int", ["1", .double(1.5), nil, true]), ("int8", [128, -129, "x"]),
        ("uint8", [256, -1, nil]), ("uint16", [65_536, -1]), ("double", ["half", true, nil]),
        ("string", [1, nil, [], [:]]),
        ("date", [5, "yesterday", nil]), ("data", ["%", 1]), ("url", ["", 5]), ("uuid", ["0001", 1, nil]),
        ("duration", ["soon", true]), ("tone", ["loud", 1, nil]), ("present", ["x", .double(1.5), []]),
        ("list", [1, ["a"], nil]),
        ("labels", [[], ["x": 1], nil]), ("mode", [1, "off"]), ("limits", [1, ["burst": "x"], ["burst": nil], nil]),
        ("backup", ["x", ["burst": "x"], ["burst": nil]]),
    ]

    /// Values that the library accepts.
    private static let accepted: [(String, [StoredValue])] = [
        ("int", [1, 65_535, .double(5)]), ("int64", [0, .integer(Int128(Int64.max))]), ("int128", ["-5", 7]),
        ("uint64", [.integer(Int128(UInt64.max))]), ("double", [0, .double(0.25)]),
        ("infinite", ["inf", "nan", 1]), ("string", [""]), ("date", ["2026-11-21T13:00:00+01:00"]), ("data", [""]),
        ("url", ["https://example.org/a?b#c"]), ("uuid", ["00010203-0405-0607-0809-0a0b0c0d0e0f"]),
        ("decimal", [1, .double(0.5), "1e3", "NaN"]), ("duration", [5, .double(0.5), "3m", "250ms"]), ("rank", [2]),
        ("limits", [["burst": 5], [:]]), ("maybe", [nil, 3]), ("absent", [1, 3]), ("list", [[]]),
        ("set", [["a", "a"]]),
        ("levels", [[:], ["x": []]]), ("range", [[3, 3]]), ("any", [nil, 1, "x"]), ("old", [5]),
        ("db.port", [1]), ("db.pool", [["size": 2]]),
        ("db", [[:], ["port": 1], ["pool.size": 2, "size": 1], ["pool": ["size": 2, "limits": ["burst": 2]]]]),
        ("$schema", ["settings.schema.json"]), ("storedSettings.migrations", [["one"]]),
    ]

    /// Values that the library rejects.
    private static let rejected: [(String, [StoredValue])] = [
        ("bool", ["true", 1, nil]), ("int", [0, 65_536, "8080", .double(1.5), nil]), ("int8", [128, "1"]),
        ("int16", [.integer(-32_769)]), ("int32", [100]), ("int64", [-1, true]), ("int128", ["x", [1]]), ("uint", [-1]),
        ("uint8", [256, -1]), ("uint16", [65_536]), ("uint32", [-1]), ("uint64", [-1, "1"]), ("uint128", [-1]),
        ("double", [1, .double(-0.5), "half"]), ("infinite", ["much", true]), ("float", [[]]),
        ("string", [1, nil, ["a"]]),
        ("character", ["", 5]), ("date", ["yesterday", 5]), ("data", ["%", 1]), ("url", ["", 1, ["base": "x"]]),
        ("uuid", ["0001", 1]), ("decimal", ["one", true]), ("duration", ["soon", true]), ("level", ["loud", 1]),
        ("rank", [3, "low"]), ("name", [1]), ("limits", [1, []]), ("maybe", ["x"]), ("absent", [0, 4, nil]),
        ("list", [1, ["a"], [1, nil]]), ("set", ["a", [1]]), ("levels", [["x": ["loud"]], []]),
        ("range", [[1], [1, 2, 3], 5]),
        ("db.port", [0]), ("db.pool", [1, ["size": "x"], ["sizes": 1], ["limits": ["burst": "x"]]]),
        ("db", [1, [], ["port": 0], ["prot": 1], ["pool": ["size": "x"]], ["pool": ["port": 1]], ["size": "x"]]),
        ("bridged", ["x"]), ("renamed", ["x"]), ("old", ["x"]), ("renamd", [1]),
    ]

    /// Prints the schema, the sample file, and the files to accept and to reject, as one JSON object.
    ///
    /// - Throws: ``Disagreement`` if the library itself does not accept or reject a file.
    static func print() throws {
        let catalog = SettingsSuite.withStandard(.inMemory()) { SettingsCatalog(Settings()) }
        let output: StoredValue = [
            "schema": .string(catalog.jsonSchema()),
            "sample": .string(catalog.sampleFile(hasComments: false)),
            "accepted": .array(try files(accepted + inService(acceptedMembers), areValid: true)),
            "rejected": .array(try files(rejected, areValid: false)),
            "rejectedMembers": .array(try files(inService(rejectedMembers), areValid: false)),
        ]
        printLine(String(decoding: try JSONWriter.compactText(of: output), as: UTF8.self))
    }

    struct Disagreement: Error, CustomStringConvertible {
        var description: String
    }

    private static func inService(_ members: [(String, [StoredValue])]) -> [(String, [StoredValue])] {
        members.map { name, values in ("service", values.map { [name: $0] }) }
    }

    private static func files(_ values: [(String, [StoredValue])], areValid: Bool) throws -> [StoredValue] {
        try values.flatMap { key, values in try values.map { try file(key, $0, isValid: areValid) } }
    }

    private static func file(_ key: String, _ value: StoredValue, isValid: Bool) throws -> StoredValue {
        let directory = FileManager.default.temporaryDirectory.appending(path: "schema-\(UUID())").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let text = try JSONWriter.compactText(of: [key: value])
        let path = directory + "/settings.json"
        guard FileManager.default.createFile(atPath: path, contents: Data(text)) else {
            throw Disagreement(description: "\(path) cannot be written")
        }
        let suite = SettingsSuite(fileAt: path)
        let catalog = SettingsSuite.withStandard(suite) { SettingsCatalog(Settings()) }
        let problems = catalog.findProblems().errors
        suite.finish()
        try FileManager.default.removeItem(atPath: directory)
        guard problems.isEmpty == isValid else {
            throw Disagreement(description: "the library finds these problems with \(key) = \(value): \(problems)")
        }
        return [key: value]
    }
}
