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
package struct RangeLimits<Value> {
    package var lower: Value?
    package var upper: Value?
    /// Whether the upper limit is not valid itself.
    package var isUpperExcluded = false

    func map<Other>(_ convert: (Value) throws -> Other?) rethrows -> RangeLimits<Other> {
        let (lower, upper) = (try lower.flatMap(convert), try upper.flatMap(convert))
        return RangeLimits<Other>(lower: lower, upper: upper, isUpperExcluded: isUpperExcluded)
    }

    /// The range as it is written in source; durations as they are written in overrides.
    var sourceText: String {
        (written(lower) ?? "") + (isUpperExcluded ? "..<" : "...") + (written(upper) ?? "")
    }

    var words: RangeWords {
        switch (written(lower), written(upper)) {
        case (let lower?, nil): ("below \(lower)", "of at least \(lower)")
        case (nil, let upper?) where isUpperExcluded:
            ("not less than \(upper)", "less than \(upper)")
        case (nil, let upper?): ("above \(upper)", "of at most \(upper)")
        default: ("outside \(sourceText)", "in \(sourceText)")
        }
    }

    private func written(_ limit: Value?) -> String? {
        limit.map { ($0 as? Duration).map(DurationText.written) ?? "\($0)" }
    }
}

extension RangeLimits: Sendable where Value: Sendable {}

/// The words of a message for a value that is not valid, such as `outside 1...5`, and for the valid ones, such as `in 1...5`.
typealias RangeWords = (outside: String, inside: String)

extension ValidValues {
    /// The limits; `nil` for values that are no range.
    var limits: RangeLimits<ValidValue>? {
        (self as? any LimitedValues).flatMap { $0.anyLimits as? RangeLimits<ValidValue> }
    }

    /// The valid values, if they are listed; `nil` for other types.
    var list: [ValidValue]? { self as? [ValidValue] ?? (self as? any ListedValues)?.anyList as? [ValidValue] }

    var words: RangeWords {
        limits?.words ?? ("outside \(sourceText)", "in \(sourceText)")
    }

    /// The valid values as they are written in source.
    var sourceText: String { limits?.sourceText ?? "\(self)" }
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
}

extension ClosedRange: LimitedValues {
    fileprivate var anyLimits: Any { RangeLimits(lower: lowerBound, upper: upperBound) }
}

extension Range: LimitedValues {
    fileprivate var anyLimits: Any { RangeLimits(lower: lowerBound, upper: upperBound, isUpperExcluded: true) }
}

extension PartialRangeFrom: LimitedValues {
    fileprivate var anyLimits: Any { RangeLimits(lower: lowerBound, upper: nil) }
}

extension PartialRangeThrough: LimitedValues {
    fileprivate var anyLimits: Any { RangeLimits(lower: nil, upper: upperBound) }
}

extension PartialRangeUpTo: LimitedValues {
    fileprivate var anyLimits: Any { RangeLimits(lower: nil, upper: upperBound, isUpperExcluded: true) }
}
