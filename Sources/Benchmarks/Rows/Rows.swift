// SPDX-License-Identifier: Apache-2.0

/// All that is measured, in the order in which it is printed.
enum Rows {
    static let all =
        scalarReads + threadedReads + textReads + sets + codable + opening + waking + subscribers + userDefaults
}
