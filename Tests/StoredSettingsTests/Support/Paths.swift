// SPDX-License-Identifier: Apache-2.0

@testable import StoredSettings

// Tests name files by strings.

extension FileStore {
    convenience init(
        path: String,
        system: SystemCalls = SystemCalls(),
        foldsInBackground: Bool = true,
        journalBound: Int = 1 << 22
    ) {
        self.init(
            path: FilePath(path),
            system: system,
            foldsInBackground: foldsInBackground,
            journalBound: journalBound
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
