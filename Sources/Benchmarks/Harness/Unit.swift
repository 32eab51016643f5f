// SPDX-License-Identifier: Apache-2.0

/// What a figure counts.
enum Unit: String, Encodable {
    case nanoseconds
    case bytes
}
