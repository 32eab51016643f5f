// SPDX-License-Identifier: Apache-2.0

@testable import StoredSettings

// Tests pass paths as strings.

extension FileStore {
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
        lockPatience: Duration = FileLock.patience
    ) {
        self.init(
            path: FilePath(path),
            system: system,
            checkpointsInBackground: checkpointsInBackground,
            journalBound: journalBound,
            lockPatience: lockPatience
        )
    }
}

extension SystemCalls {
    func open(_ path: String, _ flags: CInt) throws(SystemError) -> StoredSettings.FileHandle {
        try open(FilePath(path), flags)
    }

    func status(at path: String, followingLinks: Bool = true) throws(SystemError) -> FileStatus? {
        try status(at: FilePath(path), followingLinks: followingLinks)
    }
}
