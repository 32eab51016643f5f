// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

@Suite("The depth of coding")
struct CodingDepthTests {
    private struct Tree: Codable {
        var children: [Tree] = []

        init(depth: Int) {
            for _ in 0..<depth {
                var outer = Tree()
                outer.children = [self]
                self = outer
            }
        }

        private init() {}
    }

    private struct Endless: Codable {
        init() {}
        init(from decoder: any Decoder) throws { self = try decoder.singleValueContainer().decode(Endless.self) }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(self)
        }
    }

    private struct DeeplyNested: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            for _ in 0..<100_000 {
                try container.encode(1)
                container = container.nestedUnkeyedContainer()
            }
        }
    }

    @Test("values up to the maximum depth are coded")
    func maximumDepth() throws {
        let stored = try StoredValueEncoder().encode(Tree(depth: 62))
        #expect(try StoredValueEncoder().encode(StoredValueDecoder().decode(Tree.self, from: stored)) == stored)
    }

    @Test("values beyond the maximum depth fail instead of exhausting the stack")
    func tooDeep() throws {
        let fact = "the value is nested deeper than 127 levels"
        #expect(settingsError { try StoredValueEncoder().encode(Tree(depth: 64)) }?.fact == fact)
        #expect(settingsError { try StoredValueEncoder().encode(Endless()) }?.fact == fact)
        #expect(settingsError { try StoredValueDecoder().decode(Endless.self, from: 1) }?.fact == fact)
        #expect(settingsError { try StoredValueEncoder().encode(DeeplyNested()) }?.fact == fact)

        var stored: StoredValue = ["children": []]
        for _ in 0..<400 { stored = ["children": [stored]] }
        let error = try #require(settingsError { try StoredValueDecoder().decode(Tree.self, from: stored) })
        #expect(error.fact == fact)
        #expect(error.path.count == 128)
    }
}
