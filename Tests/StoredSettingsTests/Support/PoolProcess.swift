// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import TestSupport

@testable import StoredSettings

/// A process with the settings of a pool in a file: `least` is at most `most`, and `most` is at most `limit`.
struct PoolProcess {
    let path: String
    let store: FileStore
    let pool: PoolSettings
    let limit: Setting<Int>

    init(_ path: String, _ reporter: any SettingsReporter, _ system: SystemCalls = SystemCalls()) {
        self.path = path
        store = FileStore(
            path: FilePath(path),
            system: system,
            checkpointsInBackground: false,
            timeouts: .unlimited
        )
        pool = PoolSettings(SettingsSuite(store: store, reporter: reporter))
        limit = Setting("limit", default: 900, suite: pool.suite)
        pool.catalog.require("most is at most limit", pool.$most, limit) { $0 <= $1 }
    }

    var values: [Int] { pool.values + [limit.value] }

    /// Replaces the file, and notices it.
    func edit(_ text: String) throws {
        try path.replaceFile(with: text)
        store.lookAndWait()
    }
}

/// Runs a body with a process in whose file `least` is 5 and `most` is 40.
func withPoolProcess(_ reporter: any SettingsReporter, _ body: (PoolProcess) async throws -> Void) async throws {
    try await withTemporaryDirectory(inMemory: true) { directory in
        let process = PoolProcess(directory + "/settings.json", reporter)
        try await process.pool.$least.set(5)
        try await process.pool.$most.set(40)
        try await process.pool.suite.checkpoint()
        try await body(process)
        process.store.close()
    }
}
