// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// The settings of the code under test.
///
/// They name no suite, so a test replaces the standard suite.
struct LimiterSettings: Sendable {
    @DefaultStorage(key: "limit", in: 1...1_000) var limit = 2
}

/// The code under test: it admits a number of requests, which can change at any time.
struct RateLimiter {
    let settings: LimiterSettings
    private var admitted = 0

    init(_ settings: LimiterSettings = LimiterSettings()) {
        self.settings = settings
    }

    mutating func admits() -> Bool {
        guard admitted < settings.limit else { return false }
        admitted += 1
        return true
    }
}
