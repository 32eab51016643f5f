// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// The lock of `settings.json.lock`, under which one process at a time writes a checkpoint.

extension FileStore {
    /// Acquires the checkpoint lock, which allows one checkpoint at a time.
    ///
    /// - Parameters:
    ///   - patience: How long to wait while the process that holds the lock makes no progress.
    ///   - slowPatience: How long to wait if that process is running, so that it may be waiting for a slow disk; `nil`
    ///     for no longer than `patience`.
    /// - Returns: The lock, which is released with the last reference to it.
    /// - Throws: ``SystemError``, or ``SettingsError`` if the other process does not release the lock.
    func lockForCheckpoint(patience: Duration, slowPatience: Duration? = nil) throws -> FileHandle {
        for _ in 0..<Self.mostPlans {
            guard let lock = try openCheckpointLock() else { continue }
            try FileLock.acquire(
                lock,
                file.system,
                patience: patience,
                slowPatience: slowPatience,
                holder: { state.withLock { $0.journal.journal }.flatMap { LockHolder(of: .checkpoint, in: $0.page) } },
                progress: {
                    let journal = state.withLock { $0.journal.journal }
                    return journal.map { LockHolder.progress(in: $0.page) &+ ($0.current?.epoch.serial ?? 0) }
                        ?? 0
                }
            )
            if try isInPlace(lock) { return lock }
        }
        throw SystemError(call: .lock, path: file.path, number: EAGAIN)
    }

    /// Whether a lock still excludes other processes.
    ///
    /// Its file may have been removed and created again.
    func isInPlace(_ lock: FileHandle) throws -> Bool {
        try file.system.status(of: lock).isSameFile(as: file.system.status(at: lock.path, followingLinks: false))
    }

    /// Acquires the checkpoint lock if it is free.
    ///
    /// - Parameter isCreating: Whether to create the lock's file if it does not exist.
    /// - Returns: `nil` when another process holds the lock, or there is no file.
    /// - Throws: ``SystemError`` if the file cannot be opened or locked.
    func tryToLockForCheckpoint(creating isCreating: Bool = true) throws -> FileHandle? {
        guard let lock = try openCheckpointLock(creating: isCreating) else { return nil }
        return try file.system.tryLock(lock) && isInPlace(lock) ? lock : nil
    }

    private func openCheckpointLock(creating isCreating: Bool = true) throws -> FileHandle? {
        let directory = try file.directory()
        let name = directory.name.adding(SettingsFile.lockSuffix)
        // Locking requires only read access, so users without write access to the lock's file also take turns.
        if let lock = try directory.openSibling(name, O_RDONLY) { return lock }
        guard isCreating, let lock = try directory.createSibling(name, O_RDONLY) else { return nil }
        if let model = try directory.status() { try file.system.copyPermissions(of: model, to: lock) }
        return lock
    }
}
