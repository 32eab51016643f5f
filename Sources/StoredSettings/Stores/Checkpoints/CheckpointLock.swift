// SPDX-License-Identifier: Apache-2.0

/// The lock of `settings.json.lock`, under which one process at a time writes a checkpoint.
package struct CheckpointLock {
    private let handle: FileHandle
    private let system: SystemCalls

    var path: FilePath { handle.path }

    private init?(_ file: SettingsFile, creating isCreating: Bool) throws {
        system = file.system
        let directory = try file.directory()
        let name = directory.name.adding(SettingsFile.lockSuffix)
        // Locking requires only read access, so users without write access to the lock's file also take turns.
        if let lock = try directory.openSibling(name, OpenFlags.readOnly) {
            handle = lock
            try Self.share(lock, in: directory)
            return
        }
        guard isCreating else { return nil }
        // A checkpoint removes abandoned drafts of the settings file.
        let model = try directory.model()?.writableByOwner
        let new = try directory.createSibling(name, OpenFlags.readOnly, like: model, draftOf: directory.name)
        guard let new else { return nil }
        handle = new
    }

    /// Waits for the lock, whose holder and its progress the header of the journal shows.
    ///
    /// - Throws: ``SystemError``, or ``SettingsError`` if the other process does not release the lock.
    static func acquire(
        for file: SettingsFile,
        _ timeout: LockTimeouts,
        journal: () -> Journal?
    ) throws -> CheckpointLock {
        for _ in 0..<Checkpointer.mostPlans {
            guard let lock = try CheckpointLock(file, creating: true) else { continue }
            try FileLock.wait(
                for: lock.path,
                timeout,
                holder: {
                    journal().flatMap { LockHolder(of: .checkpoint, in: $0.page) }
                        ?? LockHolder(ofLockOn: lock.handle, file.system)
                },
                progress: {
                    journal().map { LockHolder.progress(in: $0.page) &+ ($0.current?.epoch.serial ?? 0) } ?? 0
                },
                attempt: { try file.system.tryLock(lock.handle) }
            )
            if try lock.isInPlace { return lock }
        }
        throw SystemError(call: .lock, path: file.path, number: Errno.resourceTemporarilyUnavailable)
    }

    /// Acquires the lock if it is free.
    ///
    /// - Returns: `nil` when another process holds the lock, or there is no file.
    /// - Throws: ``SystemError`` if the file cannot be opened or locked.
    package static func tryToAcquire(for file: SettingsFile, creating isCreating: Bool = true) throws
        -> CheckpointLock?
    {
        guard let lock = try CheckpointLock(file, creating: isCreating) else { return nil }
        return try file.system.tryLock(lock.handle) && lock.isInPlace ? lock : nil
    }

    /// Whether the lock still excludes other processes.
    ///
    /// Its file may have been removed and created again.
    var isInPlace: Bool {
        get throws {
            try system.status(of: handle).isSameFile(as: system.linkStatus(at: path))
        }
    }

    /// Throws ``SettingsError`` if the lock no longer excludes other processes.
    func check() throws {
        guard try isInPlace else { throw SettingsError.checkpointLockLost(path) }
    }

    package func release() {
        system.unlock(handle)
    }

    /// Lets all users of the settings file open the lock, if the user of this process has created it.
    ///
    /// Another user may have put a file of this user in its place. So only an empty file is changed, and it retains its
    /// owner.
    private static func share(_ lock: FileHandle, in directory: SettingsDirectory) throws {
        guard let model = try directory.status() else { return }
        let (status, user) = (try directory.system.status(of: lock), SystemCalls.currentUser())
        var wanted = model.writableByOwner
        wanted.owner = status.owner
        // The directory of a user may contain files of root, so root changes only the mode there, or nothing.
        guard model.isRegular, status.size == 0, status.owner == user,
            user != 0 || model.owner == 0 || status.group == model.group,
            status.group != wanted.group || status.permissions != wanted.permissions & FileMode.all
        else { return }
        try directory.system.copyPermissions(of: wanted, to: lock)
    }
}
