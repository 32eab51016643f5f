// SPDX-License-Identifier: Apache-2.0

import Testing

/// Source that the compiler rejects, and its message.
struct Misuse: Sendable {
    var source: String
    var message: String

    init(_ source: String, says message: String) {
        self.source = source
        self.message = message
    }
}

@Suite("The compiler")
struct MisuseTests {
    /// Declarations for all snippets.
    private static let preamble = """
        import Observation
        import StoredSettings

        enum Key: String { case number }
        struct Unstorable: Sendable {}
        struct Limit: Codable, Sendable {}
        struct Hashed: Hashable, Sendable {}
        struct HashedBridge: StoredValueBridge {
            func value(from: StoredValue) -> Hashed { Hashed() }
            func storedValue(from: Hashed) -> StoredValue { .null }
        }
        struct Bridge: StoredValueBridge {
            func value(from: StoredValue) -> Unstorable { Unstorable() }
            func storedValue(from: Unstorable) -> StoredValue { .null }
        }
        extension SettingKeys {
            static let ratio = SettingKey("ratio", default: 0.8)
            static let maximum = SettingKey<Int?>("maximum")
        }
        func send(_: some Sendable) {}
        func hash(_: some Hashable) {}
        func encode(_: some Encodable) {}
        func decode(_: some Decodable) {}

        """

    /// Code that the compiler must accept.
    ///
    /// With wrong flags or a wrong module it would reject this as well.
    private static let correct = """
        struct Settings: Sendable {
            @DefaultStorage(key: "number") var number = 1
            @DefaultStorage(key: "maybe") var maybe: Int? = nil
            @DefaultStorage(Key.number, in: 1...) var keyed = 1
            @DefaultStorage(.ratio) var ratio
            @DefaultStorage(key: "list", as: Bridge().array) var list: [Unstorable] = []
            @DefaultStorage(key: "limits", as: CodableBridge()) var limits: [Limit?] = []
            @DefaultStorageOptional(key: "optional") var optional: Int?
            @DefaultStorageOptional(.maximum) var maximum
        }
        final class Unchecked: @unchecked Sendable { @DefaultStorage(key: "number") var number = 1 }
        @Observable final class Model { @ObservationIgnored @DefaultStorage(key: "number") var number = 1 }
        struct Coded: Codable {
            @DefaultStorage(key: "number") var number = 1
            var name = ""
            private enum CodingKeys: CodingKey { case name }
        }
        struct Ranges: Sendable {
            @DefaultStorage(key: "halfOpen", in: 1..<5) var halfOpen = 3
            @DefaultStorage(key: "through", in: ...5) var through = 3
            @DefaultStorage(key: "upTo", in: ..<5) var upTo = 3
            @DefaultStorage(key: "fraction", in: 0...1) var fraction = 0.5
            @DefaultStorage(key: "text", in: "a"..."f") var text = "c"
            @DefaultStorage(key: "timeout", in: .zero ... .seconds(60)) var timeout = Duration.seconds(5)
            @DefaultStorage(key: "even", in: 0...10, validate: { $0.isMultiple(of: 2) }) var even = 4
        }
        class Tool { @DefaultStorage(key: "retries") var retries = 3 }
        final class SpecialTool: Tool { @DefaultStorage(key: "dryRun") var isDryRun = false }
        struct Cache<Element: StoredValueConvertible>: Sendable {
            @DefaultStorage var all: [String: Element]
            @DefaultStorageOptional var newest: Element?
            init(suite: SettingsSuite) {
                _all = DefaultStorage(wrappedValue: [:], key: "all", suite: suite)
                _newest = DefaultStorageOptional(key: "newest", suite: suite)
            }
            func push(_ element: Element) {
                newest = element
                all["newest"] = element
            }
        }
        func assign(_ settings: Settings) {
            settings.number += 1
            settings.maybe = nil
        }
        func local() -> Bool {
            @DefaultStorage(key: "local", in: 0...10) var count = 1
            count += 1
            return $count.isSet
        }
        func correct(_ settings: Settings, _ suite: SettingsSuite) {
            send(settings.$number)
            send(settings.$number.values)
            send(suite.changes())
            hash(settings.$number.key)
            hash(suite)
            suite[.ratio] += suite[.ratio] * 2
            _ = SettingKey<[Unstorable]>("x", default: [], as: Bridge().array)
            _ = SettingKey("x", default: Unstorable(), as: Bridge())
            _ = SettingKey<[Limit?]>("x", default: [], as: CodableBridge())
            let _: SettingKey<Int?> = SettingKey("x")
            _ = Setting<Int?>("x")
            _ = Setting<Unstorable?>("x", as: Bridge())
            _ = Setting("x", default: 1, in: 1...9) { $0 != 5 }
            _ = Setting("x", default: Unstorable(), as: Bridge())
            _ = SettingKey("x", default: { 3 }, in: 1...9) { $0 > 1 }
            _ = SettingKey<[Unstorable]>("x", default: { [] }, as: Bridge().array)
            hash(SettingKeys.ratio)
            _ = Settings(number: 5)
            let _: SettingKey<Limit?> = SettingKey("x", as: CodableBridge())
        }
        func convert(_ t: inout SettingsTransaction, _ limit: Setting<Limit?>) throws {
            try t.convert(limit, from: CodableBridge())
        }

        """

    static let misuses = wrappers + conformances

    private static let missingDefault = "Add a default, or use @DefaultStorageOptional for a value that may be nil."
    private static let unstorable = "Conform the type to StoredValueConvertible, or pass a bridge as `as:`."
    private static let needlessDefault = "Remove the initial value, or use @DefaultStorage for a default."
    private static let otherType = "The value and the key have different types."
    private static let oneLoop = "An iterator belongs to one loop; give each task its own loop over the sequence."

    private static let wrappers = [
        Misuse("@DefaultStorage var x = 5", says: #"Add a key: @DefaultStorage(key: "port")."#),
        Misuse("@DefaultStorage var x: Int? = nil", says: #"Add a key: @DefaultStorage(key: "port")."#),
        Misuse(#"@DefaultStorage(key: "x") var x: Int?"#, says: missingDefault),
        Misuse(#"@DefaultStorage(key: "x", suite: "s") var x: Int?"#, says: missingDefault),
        Misuse(#"@DefaultStorage(key: "x") var x: Unstorable?"#, says: missingDefault),
        Misuse(#"@DefaultStorage(key: "x") var x: Int"#, says: missingDefault),
        Misuse(#"@DefaultStorage(key: "x", validate: { $0 > 1 }) var x: Int"#, says: missingDefault),
        Misuse(#"@DefaultStorage(key: "x", in: 1...9) var x: Int"#, says: missingDefault),
        Misuse(#"@DefaultStorage(key: "x") var x = Unstorable()"#, says: unstorable),
        Misuse(#"@DefaultStorage(key: "x", validate: { _ in true }) var x = Unstorable()"#, says: unstorable),
        Misuse(#"@DefaultStorage(key: "x") var x = [Unstorable()]"#, says: unstorable),
        Misuse(#"@DefaultStorage(key: "x") var x: Unstorable? = Unstorable()"#, says: unstorable),
        Misuse(#"@DefaultStorageOptional(key: "x") var x: Unstorable?"#, says: unstorable),
        Misuse(#"@DefaultStorageOptional(key: "x") var x: Int? = 5"#, says: needlessDefault),
        Misuse(#"@DefaultStorageOptional(key: "x") var x: Int? = nil"#, says: needlessDefault),
        Misuse(#"@DefaultStorageOptional(key: "x", validate: { $0 > 1 }) var x: Int? = 5"#, says: needlessDefault),
        Misuse(#"@DefaultStorage("x") var x = 5"#, says: "A string key has a label"),
        Misuse(#"@DefaultStorageOptional("x") var x: Int?"#, says: "A string key has a label"),
        // The compiler has messages of its own.
        Misuse("@DefaultStorage(key: Key.number) var x = 5", says: "cannot convert value of type 'Key' to expected"),
        Misuse("@DefaultStorage(.unknown) var x = 5", says: "type 'SettingKey<Int>' has no member 'unknown'"),
        Misuse(#"@DefaultStorage(.ratio) var x = "text""#, says: "result of type 'SettingKey<Double>', but context"),
        Misuse("@DefaultStorage(.ratio) var x: String", says: "result of type 'SettingKey<Double>' but context"),
        Misuse(
            #"let x = SettingKey("x", default: Unstorable())"#,
            says: "'Unstorable' conform to 'StoredValueConvertible'"
        ),
        Misuse(
            #"let x = Setting("x", default: Unstorable())"#,
            says: "'Unstorable' conform to 'StoredValueConvertible'"
        ),
        Misuse(#"func f(_ suite: SettingsSuite) { suite["x"] = 1 }"#, says: "missing argument label 'storedValueFor:'"),
        Misuse(#"func f(_ suite: SettingsSuite) { suite[.ratio] = "text" }"#, says: otherType),
        Misuse("func f(_ t: inout SettingsTransaction) { t[.ratio] = true }", says: otherType),
    ]

    private static let conformances =
        [
            Misuse("func f(_ x: Setting<Int>) { send(x.values.makeAsyncIterator()) }", says: oneLoop),
            Misuse("func f(_ x: Setting<Int>) { send(x.changes().makeAsyncIterator()) }", says: oneLoop),
            Misuse("func f(_ x: SettingsSuite) { send(x.changes().makeAsyncIterator()) }", says: oneLoop),
            Misuse(
                #"final class C: Sendable { @DefaultStorage(key: "x") var x = 5 }"#,
                says: "stored property '_x' of 'Sendable'-conforming class 'C' is mutable"
            ),
        ]
        + ["Setting<Int>", "DefaultStorage<Int>", "DefaultStorageOptional<Int>"]
        .flatMap { type in
            [("hash", "Hashable"), ("encode", "Encodable"), ("decode", "Decodable")]
                .filter { $0.0 != "hash" || type != "Setting<Int>" }
                .map { function, conformance in
                    Misuse("func f(_ x: \(type)) { \(function)(x) }", says: "'\(type)' conform to '\(conformance)'")
                }
        }
        + [
            Misuse(
                "func f(_ s: SettingsSuite, _ x: Setting<Int>) { send(s.values(of: x).makeAsyncIterator()) }",
                says: oneLoop
            )
        ]

    /// Snippets for which the compiler has an error of its own beside others, or on another line.
    private static let explained: [(source: String, message: String)] = [
        (
            #"@DefaultStorageOptional(key: "x") var x: Int"#,
            "property type 'Int' does not match 'wrappedValue' type 'Value?'"
        )
    ]

    @Test("rejects a property that is not optional under the optional wrapper")
    func explainedMisuse() throws {
        for (source, message) in Self.explained {
            let complaints = try Compiler().check(Self.preamble + "struct Use { \(source) }")
            #expect(complaints.contains { $0.message == message }, "\(complaints)")
        }
    }

    /// The compiler is run once for everything, with each misuse on a line of its own at the end.
    private static let complaints = Result {
        let snippets = misuses.enumerated().map { "enum Snippet\($0) { struct Use { \($1.source) } }" }
        return try Compiler().check(preamble + correct + snippets.joined(separator: "\n"))
    }

    private static let firstLine = (preamble + correct).count { $0 == "\n" } + 1

    @Test("accepts correct code")
    func correctUse() throws {
        let complaints = try Self.complaints.get()
        #expect(complaints.filter { $0.line < Self.firstLine } == [])
        #expect(!complaints.isEmpty)
    }

    @Test("rejects code that has no meaning, and names the fix", arguments: misuses.indices)
    func misuse(_ index: Int) throws {
        let misuse = Self.misuses[index]
        let complaints = try Self.complaints.get().filter { $0.line == Self.firstLine + index }
        #expect(!complaints.isEmpty, "Accepted: \(misuse.source)")
        #expect(complaints.allSatisfy { $0.message.contains(misuse.message) }, "\(misuse.source): \(complaints)")
    }
}
