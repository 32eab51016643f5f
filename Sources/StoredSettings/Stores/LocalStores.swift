// SPDX-License-Identifier: Apache-2.0

/// Files of other products of the package, with the same journal as those of suites.
package enum LocalStores {
    /// Returns a store in a file, which does not exist until something is stored.
    package static func file(at path: String) -> any SettingsStore {
        FileStore(path: SettingsLocation.absolute(FilePath(path)))
    }

    /// Returns a store in a file beside the settings of a suite.
    ///
    /// Without a directory for settings, nothing can be stored there, and the errors of the store say why.
    ///
    /// - Parameters:
    ///   - name: The name of the file.
    ///   - suite: The name of the suite.
    /// - Returns: The store.
    package static func file(named name: String, besideSuite suite: String) -> any SettingsStore {
        switch SettingsLocation.directory(forSuite: suite, in: .process) {
        case .success(let directory): FileStore(path: directory.appending(FilePath(name)))
        case .failure(let error): UnavailableStore(because: error)
        }
    }
}

/// A process of this machine, for records on the disk that outlive it.
package struct ProcessMark: Hashable, Sendable {
    package var process: UInt64
    /// The time at which the process was started, which tells it from a later one with the same number; 0 if it is unknown.
    package var start: UInt64

    package init(process: UInt64, start: UInt64) {
        (self.process, self.start) = (process, start)
    }

    /// No process.
    package static let none = ProcessMark(process: 0, start: 0)

    /// This process.
    package static var current: ProcessMark {
        let process = UInt64(SystemCalls.currentProcess())
        return ProcessMark(process: process, start: SystemCalls.statusOfProcess(process)?.start ?? 0)
    }

    /// Whether the process exists and has not ended.
    package var isRunning: Bool {
        guard SystemCalls.isRunning(process) else { return false }
        guard let status = SystemCalls.statusOfProcess(process) else { return true }
        return !status.hasEnded && (start == 0 || status.start == start)
    }
}
