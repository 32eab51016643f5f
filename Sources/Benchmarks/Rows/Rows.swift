// SPDX-License-Identifier: Apache-2.0

/// All that is measured, in the order in which it is printed.
enum Rows {
    static let all = reads + making + sets + codable + opening + waking + subscribers + memory + userDefaults

    private static let reads = scalarReads + threadedReads + textReads + threadedTextReads
}
