// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import StoredSettings

// Tests pass paths as strings.

/// Creates a store of its own for a file, like that of another process, which checkpoints only on request.
func makeStore(_ path: String, _ system: SystemCalls = SystemCalls()) -> FileStore {
    FileStore(path: path, system: system, checkpointsInBackground: false)
}

/// The names of the files in a directory that contain a text.
func files(in directory: String, containing text: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory)
        .filter { name in
            do {
                let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)"))
                return bytes.range(of: Data(text.utf8)) != nil
            } catch CocoaError.fileReadNoSuchFile {
                // A draft that a background checkpoint has renamed or removed since.
                return false
            }
        }
        .sorted()
}

extension FileStore {
    /// Waits until the file is old enough for its times to be trusted.
    func untilSettled() async {
        await eventually("the file has settled") {
            look()
            _ = contents()
            return peek { $0.settings.reading?.isCertain == true }
        }
    }

    /// Looks at the file, and waits until its contents are current, even if another thread is already reading it.
    func lookAndWait() {
        // Twice: a thread that was already reading may have opened the file before it was replaced.
        for _ in 1...2 {
            look()
            reloader.withLock { _ in }
        }
    }

    convenience init(
        path: String,
        system: SystemCalls = SystemCalls(),
        checkpointsInBackground: Bool = true,
        journalBound: Int = 1 << 22,
        timeouts: LockTimeouts = LockTimeouts()
    ) {
        self.init(
            path: FilePath(path),
            system: system,
            checkpointsInBackground: checkpointsInBackground,
            journalBound: journalBound,
            timeouts: timeouts
        )
    }
}

extension SystemCalls {
    func open(_ path: String, _ flags: CInt) throws(SystemError) -> StoredSettings.FileHandle {
        try open(FilePath(path), flags)
    }

    func status(at path: String) throws(SystemError) -> FileStatus? {
        try status(at: FilePath(path))
    }
}
