// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Synchronization
import Testing

@testable import StoredSettings

@Suite("Encoded defaults")
struct EncodedDefaultTests {
    /// A type that counts how often its default is encoded, and refuses it or loses a member on request.
    private struct Counted: Codable, StoredValueConvertible {
        final class Count: Sendable {
            let encoded = Mutex(0)
            let computed = Mutex(0)
        }
        enum Fault { case refusal, loss }
        struct Refused: Error {}
        private enum CodingKeys: CodingKey { case a, b }

        var a = 1
        var b = 2
        var count: Count?
        var fault: Fault?

        init(count: Count, fault: Fault? = nil) { (self.count, self.fault) = (count, fault) }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            a = try container.decode(Int.self, forKey: .a)
            b = try container.decode(Int.self, forKey: .b)
        }

        func encode(to encoder: any Encoder) throws {
            count?.encoded.withLock { $0 += 1 }
            guard fault != .refusal else { throw Refused() }
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(a, forKey: .a)
            guard fault != .loss else { return try container.encode("not a number", forKey: .b) }
            try container.encode(b, forKey: .b)
        }
    }

    private let reporter = RecordingReporter()
    private let count = Counted.Count()

    private func suite(_ value: StoredValue) -> SettingsSuite {
        .inMemory(["key": value], reporter: reporter)
    }

    private var encoded: Int { count.encoded.withLock { $0 } }
    private var computed: Int { count.computed.withLock { $0 } }

    @Test("a computed default is called only for a value that lacks a member")
    func computedDefault() throws {
        let suite = suite(["a": 3, "b": 4])
        let count = count
        let makeDefault: @Sendable () -> Counted = {
            count.computed.withLock { $0 += 1 }
            return Counted(count: count)
        }
        let setting = Setting(SettingKey("key", default: makeDefault), suite: suite)
        #expect(setting.value.b == 4)
        #expect(computed == 0)
        try suite.setStoredValue(["a": 3], forKey: "key")
        #expect(setting.value.a == 3)
        #expect(setting.value.b == 2)
        #expect(computed == 1)
        #expect(reporter.errors.isEmpty)
    }

    @Test(
        "the error of a missing member remains if the default cannot be encoded, or its form of it cannot be decoded",
        arguments: [Counted.Fault.refusal, .loss]
    )
    private func refusedDefault(fault: Counted.Fault) throws {
        let setting = Setting("key", default: Counted(count: count, fault: fault), suite: suite(["a": 3]))
        #expect(setting.value.a == 1)
        let error = try #require(reporter.errors.first)
        #expect(error.fact == "expected a value under 'b', found a dictionary without one")
        #expect(error.path.isEmpty)
        #expect(encoded == 1)
    }

    @Test("an error of another decoding, which the type has started, adds nothing to the whole value")
    func innerDecoding() throws {
        struct Outer: Codable, StoredValueConvertible {
            var size: Int? = 2
            var inner: StoredValue?

            init() {}
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                size = try container.decodeIfPresent(Int.self, forKey: .size)
                inner = try container.decodeIfPresent(StoredValue.self, forKey: .inner)
                guard size == nil else { return }
                // With a size, which only the inner value lacks, the outer value would be read in another way.
                size = try inner.map { try Outer(storedValue: $0).size } ?? container.decode(Int.self, forKey: .size)
            }
        }
        #expect(Setting("key", default: Outer(), suite: suite([:])).value.size == 2)
        #expect(reporter.errors.isEmpty)
        let setting = Setting("key", default: Outer(), suite: suite(["size": nil, "inner": [:]]))
        #expect(throws: SettingsError.self) { try setting.load() }
        #expect(setting.explain().layer == .default)
    }
}
