// SPDX-License-Identifier: Apache-2.0

/// Where a coder is: the keys on the way there, and how deep that is.
struct CodingPlace: Sendable {
    /// How many containers may be nested in one another.
    static let depthLimit = StoredValue.maximumDepth

    /// How many conversions may be under way at once.
    ///
    /// More than the containers, since an optional or a wrapper that codes itself as its only value is one more
    /// without being a container.
    static let callLimit = 2 * depthLimit

    private indirect enum Step: Sendable {
        case root
        case key(any CodingKey, Step)
    }

    // A list that shares its tail, because most places are never asked for their path.
    private var step = Step.root
    private var depth = 0
    private var calls = 0

    static let root = CodingPlace()

    /// The keys, outermost first.
    var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        var step = step
        while case .key(let key, let outer) = step {
            path.append(key)
            step = outer
        }
        return path.reversed()
    }

    /// Whether this is deeper than anything sensible, so that going on might exhaust the stack.
    var isTooDeep: Bool { depth > Self.depthLimit || calls > Self.callLimit }

    func inside(_ key: any CodingKey) -> CodingPlace {
        // The list is freed recursively, so it is not to grow for as long as a type cares to nest containers.
        guard !isTooDeep else { return self }
        var place = self
        place.step = .key(key, step)
        place.depth += 1
        return place
    }

    func inside(_ index: Int) -> CodingPlace {
        inside(PlainCodingKey(index))
    }

    /// The same place, one call further.
    var entered: CodingPlace {
        var place = self
        place.calls += 1
        return place
    }
}

/// A key that is what it says, for lists, for dictionaries and for the part of a superclass.
struct PlainCodingKey: CodingKey {
    static let superclass = PlainCodingKey(stringValue: "super")

    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        self.init(intValue)
    }

    init(_ index: Int) {
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
