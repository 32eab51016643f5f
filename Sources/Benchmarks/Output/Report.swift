// SPDX-License-Identifier: Apache-2.0

import Foundation

/// All results of a run.
struct Report: Encodable {
    var machine: Machine
    var rows: [RowResult] = []

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}

struct RowResult: Encodable {
    var group: String
    var name: String
    var measurement: Measurement?
    var comparisons: [ComparisonResult]
    /// The reason why there is no measurement.
    var failure: String?
}

struct ComparisonResult: Encodable {
    var with: String?
    var measurement: Measurement?
    /// The ratio of the row's result to the other's: see ``Samples/ratio(to:)``.
    var ratio: Double?
    var bar: String?
    var isMet: Bool?
    /// The ratio or the result, in the terms of the bar.
    var finding: String

    init(_ name: String?, _ bar: Bar?, subject: Samples, other: Samples?) {
        let ratio = other.map { subject.ratio(to: $0) }
        with = name
        measurement = other?.measurement
        self.ratio = ratio
        self.bar = bar.map(Format.bar)
        isMet = bar?.isMet(by: subject.measurement, ratio: ratio) ?? nil
        finding = Format.finding(bar, subject: subject.measurement, ratio: ratio)
    }
}
