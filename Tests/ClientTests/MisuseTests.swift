// SPDX-License-Identifier: Apache-2.0

import Testing

/// Invalid code, and the compiler's error for it.
struct Misuse: Sendable {
    var source: String
    var message: String

    init(_ source: String, error message: String) {
        self.source = source
        self.message = message
    }
}

@Suite("Compiler errors")
struct MisuseTests {
    /// Declarations that all snippets use.
    private static let preamble = """
        import StoredSettings

        enum Key: String { case number }
        struct Unstorable: Sendable {}
        struct Limit: Codable, Sendable {}
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

    /// Valid code, which would also fail if the flags or the module were wrong.
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
        func correct(_ settings: Settings, _ suite: SettingsSuite) {
            send(settings.$number)
            send(settings.$number.values)
            send(suite.changes)
            hash(settings.$number.key)
            hash(suite)
            suite[.ratio] += suite[.ratio] * 2
            _ = SettingKey<[Unstorable]>("x", default: [], as: Bridge().array)
            _ = SettingKey("x", default: Unstorable(), as: Bridge())
            _ = SettingKey<[Limit?]>("x", default: [], as: CodableBridge())
            let _: SettingKey<Int?> = SettingKey("x")
            let _: SettingKey<Limit?> = SettingKey("x", as: CodableBridge())
        }
        func convert(_ t: inout SettingsTransaction, _ limit: Setting<Limit?>) throws {
            try t.convert(limit, from: CodableBridge())
        }

        """

    static let misuses = missingDefaults + unstorableTypes + bridges + needlessDefaults + keys + conformances

    private static let optionalWithoutDefault =
        "An optional without a default: use @DefaultStorageOptional, or give the property a default."
    private static let missingDefault =
        "Give the property a default, or make it optional with @DefaultStorageOptional."
    private static let missingKeyDefault = "The key needs a default, or an optional type"
    private static let arrayBridge = "add `.array` to it"
    private static let optionalBridge = "add `.optional` to it"
    private static let uncodable = "generic struct 'CodableBridge' requires that 'Unstorable' conform to"
    private static let textForKey = "A text has no type: use a SettingKey, or "
    private static let unstorable =
        "declare its conformance to StoredValueConvertible, or give a bridge with `as:`."
    private static let needlessDefault =
        "An optional setting has no default: leave out the initial value, or use @DefaultStorage for a default."
    private static let oneLoop = "An iterator belongs to one loop; give each task its own loop over the sequence."
    private static let otherType = "The value is of another type than the key."

    private static let missingDefaults = [
        Misuse(#"@DefaultStorage(key: "x") var x: Int?"#, error: optionalWithoutDefault),
        Misuse(#"@DefaultStorage(key: "x", suite: "s") var x: Int?"#, error: optionalWithoutDefault),
        Misuse("@DefaultStorage(Key.number) var x: Int?", error: optionalWithoutDefault),
        Misuse(#"@DefaultStorage(key: "x") var x: Unstorable?"#, error: optionalWithoutDefault),
        Misuse(#"@DefaultStorage(key: "x") var x: Int"#, error: missingDefault),
        Misuse(#"@DefaultStorage(key: "x", validate: { $0 > 1 }) var x: Int"#, error: missingDefault),
        Misuse("@DefaultStorage(Key.number) var x: Int", error: missingDefault),
        Misuse(#"@DefaultStorage(key: "x", in: 1...9) var x: Int"#, error: "Give the property a default that lies in"),
        Misuse("@DefaultStorage(Key.number, in: 1...) var x: Int", error: "Give the property a default that lies in"),
        Misuse(#"let x = SettingKey("x")"#, error: "Give the key a default, or the type of its values"),
        Misuse(#"let x = SettingKey<Int>("x")"#, error: missingKeyDefault),
        Misuse(#"let x = SettingKey<Int>("x") { $0 > 1 }"#, error: missingKeyDefault),
        Misuse(#"let x = SettingKey<Int>("x", in: 1...9)"#, error: "Give the key a default that lies in"),
    ]

    private static let unstorableTypes = [
        Misuse(#"@DefaultStorage(key: "x") var x = Unstorable()"#, error: unstorable),
        Misuse(#"@DefaultStorage(key: "x", validate: { _ in true }) var x = Unstorable()"#, error: unstorable),
        Misuse(#"@DefaultStorage(key: "x") var x = [Unstorable()]"#, error: unstorable),
        Misuse(#"@DefaultStorage(key: "x") var x: Unstorable? = Unstorable()"#, error: unstorable),
        Misuse("@DefaultStorage(Key.number) var x = Unstorable()", error: unstorable),
        Misuse(#"@DefaultStorageOptional(key: "x") var x: Unstorable?"#, error: unstorable),
        Misuse("@DefaultStorageOptional(Key.number) var x: Unstorable?", error: unstorable),
        Misuse(#"let x = SettingKey("x", default: Unstorable())"#, error: unstorable),
        Misuse(#"let x = SettingKey("x", default: [Unstorable()])"#, error: unstorable),
        Misuse(
            #"let x = Setting("x", default: Unstorable())"#,
            error: "requires that 'Unstorable' conform to 'StoredValueConvertible'"
        ),
    ]

    private static let bridges = [
        Misuse(#"@DefaultStorage(key: "x", as: Bridge()) var x: [Unstorable] = []"#, error: arrayBridge),
        Misuse("@DefaultStorage(Key.number, as: Bridge()) var x: [Unstorable] = []", error: arrayBridge),
        Misuse(#"let x = SettingKey<[Unstorable]>("x", default: [], as: Bridge())"#, error: arrayBridge),
        Misuse(#"@DefaultStorage(key: "x", as: Bridge()) var x: Unstorable? = nil"#, error: optionalBridge),
        Misuse("@DefaultStorage(Key.number, as: Bridge()) var x: Unstorable? = nil", error: optionalBridge),
        Misuse(#"let x = SettingKey<Unstorable?>("x", default: nil, as: Bridge())"#, error: optionalBridge),
        Misuse(#"@DefaultStorage(key: "x", as: CodableBridge()) var x = Unstorable()"#, error: uncodable),
        Misuse(#"let x = SettingKey("x", default: Unstorable(), as: CodableBridge())"#, error: uncodable),
    ]

    private static let needlessDefaults = [
        Misuse(#"@DefaultStorageOptional(key: "x") var x: Int? = 5"#, error: needlessDefault),
        Misuse(#"@DefaultStorageOptional(key: "x") var x: Int? = nil"#, error: needlessDefault),
        Misuse(#"@DefaultStorageOptional(key: "x", validate: { $0 > 1 }) var x: Int? = 5"#, error: needlessDefault),
        Misuse("@DefaultStorageOptional(Key.number) var x: Int? = 5", error: needlessDefault),
        Misuse("@DefaultStorageOptional(.maximum) var x: Int? = 5", error: needlessDefault),
    ]

    private static let keys = [
        Misuse(#"@DefaultStorage("x") var x = 5"#, error: #"A key that is a text has a label"#),
        Misuse(#"@DefaultStorageOptional("x") var x: Int?"#, error: #"A key that is a text has a label"#),
        Misuse("@DefaultStorage(key: Key.number) var x = 5", error: "cannot convert value of type 'Key' to expected"),
        Misuse("@DefaultStorage(.unknown) var x = 5", error: "type 'SettingKey<Int>' has no member 'unknown'"),
        Misuse(#"@DefaultStorage(.ratio) var x = "text""#, error: "result of type 'SettingKey<Double>', but context"),
        Misuse("@DefaultStorage(.ratio) var x: String", error: "result of type 'SettingKey<Double>' but context"),
        Misuse(#"func f(_ suite: SettingsSuite) { suite[.ratio] = "text" }"#, error: otherType),
        Misuse("func f(_ suite: SettingsSuite) { let _: String = suite[.ratio] }", error: otherType),
        Misuse("func f(_ t: inout SettingsTransaction) { t[.ratio] = true }", error: otherType),
        Misuse(#"func f(_ suite: SettingsSuite) { suite["x"] = 1 }"#, error: textForKey + "storedValue(forKey:) and"),
        Misuse(#"func f(_ suite: SettingsSuite) { let _ = suite["x"] }"#, error: textForKey),
        Misuse(#"func f(_ suite: SettingsSuite, _ x: Int) { suite["x"] = x }"#, error: textForKey),
        Misuse(#"func f(_ suite: SettingsSuite) { suite["x"] += 1 }"#, error: textForKey),
        Misuse(#"func f(_ t: inout SettingsTransaction) { t["x"] = 1 }"#, error: textForKey + "the subscript"),
        Misuse(#"func f(_ t: inout SettingsTransaction) { let _: Int = t["x"] }"#, error: textForKey),
    ]

    private static let conformances =
        [
            Misuse("func f(_ x: Setting<Int>) { send(x.values.makeAsyncIterator()) }", error: oneLoop),
            Misuse("func f(_ x: Setting<Int>) { send(x.changes.makeAsyncIterator()) }", error: oneLoop),
            Misuse("func f(_ x: SettingsSuite) { send(x.changes.makeAsyncIterator()) }", error: oneLoop),
            Misuse(
                #"final class C: Sendable { @DefaultStorage(key: "x") var x = 5 }"#,
                error: "stored property '_x' of 'Sendable'-conforming class 'C' is mutable"
            ),
        ]
        + ["Setting<Int>", "DefaultStorage<Int>", "DefaultStorageOptional<Int>"]
        .flatMap { type in
            [("hash", "Hashable"), ("encode", "Encodable"), ("decode", "Decodable")]
                .map { function, conformance in
                    Misuse("func f(_ x: \(type)) { \(function)(x) }", error: "'\(type)' conform to '\(conformance)'")
                }
        }

    /// The errors of one compiler run, with each misuse on its own line at the end.
    private static let diagnostics = Result {
        let snippets = misuses.enumerated().map { "enum Snippet\($0) { struct Use { \($1.source) } }" }
        return try Compiler().check(preamble + correct + snippets.joined(separator: "\n"))
    }

    private static let firstLine = (preamble + correct).count { $0 == "\n" } + 1

    @Test("valid code compiles")
    func correctUse() throws {
        let diagnostics = try Self.diagnostics.get()
        #expect(diagnostics.filter { $0.line < Self.firstLine } == [])
        #expect(!diagnostics.isEmpty)
    }

    @Test("a misuse does not compile, and the error names the fix", arguments: misuses.indices)
    func misuse(_ index: Int) throws {
        let misuse = Self.misuses[index]
        let diagnostics = try Self.diagnostics.get().filter { $0.line == Self.firstLine + index }
        #expect(!diagnostics.isEmpty, "This compiles: \(misuse.source)")
        #expect(diagnostics.allSatisfy { $0.message.contains(misuse.message) }, "\(misuse.source): \(diagnostics)")
    }
}
