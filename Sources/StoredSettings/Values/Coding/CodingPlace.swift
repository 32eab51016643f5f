// SPDX-License-Identifier: Apache-2.0

/// The place of a coder in the value: its coding path and its depth.
struct CodingPlace: Sendable {
    /// The maximum number of nested containers.
    static let depthLimit = StoredValue.maximumDepth

    /// The maximum number of nested conversions.
    ///
    /// It is higher than the limit for containers, because an optional, or a wrapper that codes itself as a single
    /// value, adds a conversion without adding a container.
    static let callLimit = 2 * depthLimit

    private indirect enum Step: Sendable {
        case root
        case key(any CodingKey, within: Any.Type?, Step)
    }

    // A linked list that shares its tail, because the path of most places is never read.
    private var step = Step.root
    private var depth = 0
    private var calls = 0
    /// The type that is being decoded; `nil` for an encoder.
    private var type: Any.Type?
    /// What notes the parts that the type asks for; `nil` for a value that is not traced.
    private(set) var trace: DecodingTrace?

    static let root = CodingPlace()

    init(_ trace: DecodingTrace? = nil) {
        self.trace = trace
    }

    /// The keys, outermost first.
    var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        var step = step
        while case .key(let key, _, let outer) = step {
            path.append(key)
            step = outer
        }
        return path.reversed()
    }

    /// Whether a limit is exceeded, so that further recursion could exhaust the stack.
    var isTooDeep: Bool { depth > Self.depthLimit || calls > Self.callLimit }

    func inside(_ key: any CodingKey) -> CodingPlace {
        // The list is freed recursively, so its length is bounded even if a type nests containers without end.
        guard !isTooDeep else { return self }
        var place = self
        place.step = .key(key, within: type, step)
        place.depth += 1
        return place
    }

    func inside(_ index: Int) -> CodingPlace {
        inside(PlainCodingKey(intValue: index))
    }

    /// The same place, inside one more conversion.
    var entered: CodingPlace {
        var place = self
        place.calls += 1
        return place
    }

    /// The same place, of a value that is taken as a whole.
    var untraced: CodingPlace {
        trace?.noteWhole(at: self)
        var place = self
        place.trace = nil
        return place
    }

    /// Whether an optional is being decoded.
    var isOptional: Bool { type is any OptionalType.Type }

    /// The same place, inside the decoding of a type.
    func entered(by type: Any.Type) -> CodingPlace {
        var place = entered
        place.type = type
        return place
    }

    /// The names that lead to this place; `nil` for a place in an element of an array, a set or a dictionary.
    ///
    /// An element belongs to its own collection: the element of another collection at the same place is another one.
    var memberPath: [String]? {
        var path: [String] = []
        var step = step
        while case .key(let key, let type, let outer) = step {
            guard case .key(let name) = SettingsError.PathComponent(key), !(type is any StablyOrdered.Type) else {
                return nil
            }
            path.append(name)
            step = outer
        }
        return path.reversed()
    }
}

/// A coding key for array elements, dictionary entries and the part of a superclass.
struct PlainCodingKey: CodingKey {
    static let superclass = PlainCodingKey(stringValue: "super")

    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue index: Int) {
        stringValue = "Index \(index)"
        intValue = index
    }
}

extension SettingsError.PathComponent {
    init(_ key: any CodingKey) {
        if let key = key as? PlainCodingKey, let index = key.intValue {
            self = .index(index)
        } else {
            self = .key(key.stringValue)
        }
    }
}
