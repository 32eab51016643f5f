// SPDX-License-Identifier: Apache-2.0

/// The valid values of a setting: a range, an array or a set of the standard library, or a `Sendable` type of your own.
///
/// ```swift
/// struct EvenNumbers: ValidValues {
///     func contains(_ value: Int) -> Bool { value.isMultiple(of: 2) }
/// }
///
/// @DefaultStorage(key: "port", in: 1...65_535) var port = 8080
/// @DefaultStorage(key: "format", in: ["text", "json"]) var format = "text"
/// @DefaultStorage(key: "threads", in: EvenNumbers()) var threads = 4
/// ```
///
/// Values outside are neither stored nor returned. The error of a rejected value names the valid values by their description,
/// so a type of your own should be `CustomStringConvertible`. Declarations with equal valid values share their setting if the
/// type is small and is copied bit by bit, as the ranges of numbers are. With other types, each declaration decodes the stored
/// value for itself, and takes about a microsecond to create.
public protocol ValidValues<ValidValue> {
    /// The type of the values.
    associatedtype ValidValue

    /// Returns whether a value is valid.
    func contains(_ value: ValidValue) -> Bool
}

extension ClosedRange: ValidValues {
    /// The type of the values.
    public typealias ValidValue = Bound
}

extension Range: ValidValues {
    /// The type of the values.
    public typealias ValidValue = Bound
}

extension PartialRangeFrom: ValidValues {}
extension PartialRangeThrough: ValidValues {}
extension PartialRangeUpTo: ValidValues {}
extension Array: ValidValues where Element: Equatable {}
extension Set: ValidValues {}

/// The limits of valid values that are a range.
struct RangeLimits<Value> {
    var lower: Value?
    var upper: Value?
    /// Whether the upper limit is not valid itself.
    var isUpperExcluded = false
}

extension ValidValues {
    /// The limits; `nil` for values that are no range.
    var limits: RangeLimits<ValidValue>? {
        (self as? any LimitedValues).flatMap { $0.anyLimits as? RangeLimits<ValidValue> }
    }

    /// The valid values, if they are listed; `nil` for other types.
    var list: [ValidValue]? { self as? [ValidValue] ?? (self as? any ListedValues)?.anyList as? [ValidValue] }

    /// What a message calls these values, and a value that is none of them.
    var words: RangeWords {
        (self as? any LimitedValues)?.rangeWords
            ?? RangeWords(outside: "outside \(sourceText)", inside: "in \(sourceText)")
    }

    /// The valid values as they are written in source; limits that are durations as they are written in overrides.
    var sourceText: String {
        (self as? any LimitedValues)?.sourceText ?? "\(self)"
    }
}

/// The words of a message for the values of a range, and for a value that is not in it.
struct RangeWords: Sendable {
    /// Such as `outside 1...5`.
    var outside: String
    /// Such as `in 1...5`.
    var inside: String
}

/// A collection of the standard library.
private protocol ListedValues {
    /// An array of its values.
    var anyList: Any { get }
}

extension Set: ListedValues {
    fileprivate var anyList: Any { Array(self) }
}

/// A range of the standard library.
private protocol LimitedValues {
    /// ``RangeLimits`` of the type of its values.
    var anyLimits: Any { get }
    var sourceText: String { get }
    var rangeWords: RangeWords { get }
}

extension LimitedValues {
    var rangeWords: RangeWords { RangeWords(outside: "outside \(sourceText)", inside: "in \(sourceText)") }
}

extension ClosedRange: LimitedValues {
    fileprivate var anyLimits: Any { RangeLimits(lower: lowerBound, upper: upperBound) }
    fileprivate var sourceText: String { "\(written(lowerBound))...\(written(upperBound))" }
}

extension Range: LimitedValues {
    fileprivate var anyLimits: Any { RangeLimits(lower: lowerBound, upper: upperBound, isUpperExcluded: true) }
    fileprivate var sourceText: String { "\(written(lowerBound))..<\(written(upperBound))" }
}

extension PartialRangeFrom: LimitedValues {
    fileprivate var anyLimits: Any { RangeLimits(lower: lowerBound, upper: nil) }
    fileprivate var sourceText: String { "\(written(lowerBound))..." }
    fileprivate var rangeWords: RangeWords {
        RangeWords(outside: "below \(written(lowerBound))", inside: "of at least \(written(lowerBound))")
    }
}

extension PartialRangeThrough: LimitedValues {
    fileprivate var anyLimits: Any { RangeLimits(lower: nil, upper: upperBound) }
    fileprivate var sourceText: String { "...\(written(upperBound))" }
    fileprivate var rangeWords: RangeWords {
        RangeWords(outside: "above \(written(upperBound))", inside: "of at most \(written(upperBound))")
    }
}

extension PartialRangeUpTo: LimitedValues {
    fileprivate var anyLimits: Any { RangeLimits(lower: nil, upper: upperBound, isUpperExcluded: true) }
    fileprivate var sourceText: String { "..<\(written(upperBound))" }
    fileprivate var rangeWords: RangeWords {
        RangeWords(outside: "not less than \(written(upperBound))", inside: "less than \(written(upperBound))")
    }
}

/// Returns the limit of a range, for people.
private func written<Bound>(_ bound: Bound) -> String {
    (bound as? Duration).map(DurationText.written) ?? "\(bound)"
}
