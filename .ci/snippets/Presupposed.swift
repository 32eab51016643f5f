// SPDX-License-Identifier: Apache-2.0

// What the code in the comments of declarations presupposes; see .ci/check-snippets. Its own declarations win over these.

import Foundation
import StoredSettings
import StoredSettingsFoundation

enum LogLevel: String, StoredValueConvertible { case debug, info, warning, error }
struct Limits: Codable, StoredValueConvertible, Sendable { var perSecond = 100; var burst = 20 }
struct SemanticVersion: Codable, Sendable {
    var major: Int, minor: Int, patch: Int
    init(_ major: Int, _ minor: Int, _ patch: Int) { (self.major, self.minor, self.patch) = (major, minor, patch) }
}

struct ServerSettings: Sendable {
    @DefaultStorage(key: "port") var port = 8080
    @DefaultStorage(key: "host") var host = "localhost"
    @DefaultStorage(key: "logLevel") var logLevel = LogLevel.info
    @DefaultStorage(key: "theme") var theme = "light"
    @DefaultStorage(key: "lastTheme") var lastTheme = "light"
    @DefaultStorage(key: "launches") var launches = 0
    @DefaultStorage(key: "min") var min = 1
    @DefaultStorage(key: "max") var max = 9
}
typealias ToolSettings = ServerSettings
typealias ProxySettings = ServerSettings

let settings = ServerSettings()
let suite = SettingsSuite.standard
let catalog = SettingsCatalog(settings)
let host = Setting("host", default: "localhost")
let port = Setting("port", default: "80")
let storedValue = StoredValue.null

extension SettingKeys {
    static let hosts = SettingKey("hosts", default: ["localhost"])
    static let host = SettingKey("host", default: "localhost")
    static let port = SettingKey("port", default: 80)
    static let retries = SettingKey("retries", default: 3)
    static let quality = SettingKey("quality", default: 0.8)
    static let startedAt = SettingKey("startedAt", default: Date.distantPast)
}

extension SettingMembers {
    var launchCount: SettingKey<Int> { SettingKey("launchCount", default: 0) }
    var hosts: SettingKey<[String]> { .hosts }
}

struct UnixSeconds: StoredValueBridge {
    func value(from storedValue: StoredValue) throws -> Date { .distantPast }
    func storedValue(from value: Date) throws -> StoredValue { .null }
}

final class Server: Sendable {
    func listen(on host: String = "", _ port: Int) {}
    func listen(on port: Int) async {}
    func apply(_ level: LogLevel) {}
}
let server = Server()
func serve() throws {}
func serve(_ settings: ServerSettings) async throws {}
func restart() {}

final class Logger: Sendable {
    var logLevel: LogLevel {
        get { .info }
        set {}
    }
}
let logger = Logger()

struct Pile<Element: Sendable>: Collection, RangeReplaceableCollection, Sendable {
    private var elements: [Element] = []

    var startIndex: Int { elements.startIndex }
    var endIndex: Int { elements.endIndex }
    func index(after index: Int) -> Int { index + 1 }
    subscript(position: Int) -> Element { elements[position] }
    mutating func replaceSubrange(_ range: Range<Int>, with new: some Collection<Element>) {
        elements.replaceSubrange(range, with: new)
    }
}

struct Flags: SetAlgebra, Sendable {
    var names: Set<String> = []

    func contains(_ member: String) -> Bool { names.contains(member) }
    func union(_ other: Flags) -> Flags { self }
    func intersection(_ other: Flags) -> Flags { self }
    func symmetricDifference(_ other: Flags) -> Flags { self }
    mutating func insert(_ new: String) -> (inserted: Bool, memberAfterInsert: String) { names.insert(new) }
    mutating func remove(_ member: String) -> String? { names.remove(member) }
    mutating func update(with new: String) -> String? { names.update(with: new) }
    mutating func formUnion(_ other: Flags) {}
    mutating func formIntersection(_ other: Flags) {}
    mutating func formSymmetricDifference(_ other: Flags) {}
}

final class Tint: NSObject, NSSecureCoding, Sendable {
    static let supportsSecureCoding = true
    static let accent = Tint()
    override init() {}
    init?(coder: NSCoder) {}
    func encode(with coder: NSCoder) {}
}
final class Color: NSObject, NSSecureCoding, StoredValueConvertible {
    static let supportsSecureCoding = true
    override init() {}
    init?(coder: NSCoder) {}
    func encode(with coder: NSCoder) {}
}

final class RedisStore: SettingsStore {
    let table: String
    private let values = InMemoryStore()

    init(table: String) { self.table = table }

    var persistence: SettingsPersistence { values.persistence }
    func setObserver(_ observer: any StoreObserver) { values.setObserver(observer) }
    var sharedVersion: StoreVersion? { values.sharedVersion }
    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        values.withValue(forKey: key, body)
    }
    func contents() -> [String: StoredValue] { values.contents() }
    func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        try values.commit(isBlind: isBlind, body)
    }
    func synchronize() throws { try values.synchronize() }
}
