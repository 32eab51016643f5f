// SPDX-License-Identifier: Apache-2.0

/// A store that tells without a lock, and without a call, whether what was read from it is still the newest.
protocol FreshStore: SettingsStore {
    /// Its tickets are as new as what is read in ``SettingsStore/withValue(forKey:_:)``, when taken there.
    var freshness: Freshness { get }
}
