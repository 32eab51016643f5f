// SPDX-License-Identifier: Apache-2.0

import StoredSettings

// MARK: - The system

extension Examination {
    /// The numbers of instances and watches of which a program needs one and a few.
    private static let (fewInstances, fewWatches) = (4, 16)
    /// The least space for drafts of small files.
    private static let leastSpace = 1 << 20

    /// Finds attributes with which the system keeps even root from replacing or changing a file.
    mutating func examineAttributes(_ directory: SettingsDirectory) {
        #if os(Linux)
        let noCheckpoint = "checkpoints fail, and values are stored only in the journal"
        examineAttributes(of: directory.handle, "no file in it can be replaced, so \(noCheckpoint), if that exists")
        let flags = OpenFlags.readOnly | OpenFlags.noFollow | OpenFlags.nonBlocking
        for (suffix, consequence) in [
            ("", noCheckpoint), (SettingsFile.journalSuffix, "no value can be stored"),
            (SettingsFile.lastGoodSuffix, "it keeps values that are replaced or removed later"),
        ] {
            let name = directory.name.adding(suffix)
            do {
                guard try system.linkStatus(at: name, in: directory.handle)?.isRegular ?? false,
                    let file = try system.openIfPresent(name, in: directory.handle, flags)
                else { continue }
                examineAttributes(of: file, consequence)
            } catch {
                // What keeps the file from being opened is a finding of its own.
            }
        }
        #endif
    }

    mutating func examineSystem(_ directory: SettingsDirectory) {
        #if os(Linux)
        examineWatches()
        do {
            try examineFileSystem(directory)
        } catch {
            add(Finding(.disk, error, at: directory.handle.path))
        }
        #endif
    }

    #if os(Linux)
    private mutating func examineAttributes(of file: FileHandle, _ consequence: String) {
        let (name, letter): (String, String)
        do {
            let attributes = try system.attributes(of: file)
            guard attributes.isImmutable || attributes.isAppendOnly else { return }
            (name, letter) = attributes.isImmutable ? ("immutable", "i") : ("append-only", "a")
        } catch {
            // The file system has no attributes.
            return
        }
        add(
            Finding(
                .attributes,
                isError: true,
                file.path,
                "it is \(name): it has an attribute with which the system refuses changes, also by root",
                consequence: consequence,
                remedy: "as root, run chattr -\(letter) \(file.path)",
                code: .readOnly
            )
        )
    }

    private mutating func examineWatches() {
        let instances = ProcessTable.limit(
            "/proc/sys/fs/inotify/max_user_instances",
            "/proc/sys/user/max_inotify_instances"
        )
        let watches = ProcessTable.limit("/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches")
        guard let instances, let watches else { return }
        let used = ProcessTable.watches()
        note(
            "watches",
            "\(used.instances) of \(instances) inotify instances and \(used.watches) of \(watches) watches of user "
                + "\(SystemCalls.currentUser()) are used"
        )
        let name: String
        if instances - used.instances < Self.fewInstances {
            name = "fs.inotify.max_user_instances"
        } else if watches - used.watches < Self.fewWatches {
            name = "fs.inotify.max_user_watches"
        } else {
            return
        }
        add(
            Finding(
                .watches,
                "/proc/sys/fs/inotify",
                "almost all inotify instances or watches of user \(SystemCalls.currentUser()) are used",
                consequence: "programs that start now poll, and receive changes of other processes later",
                remedy: "raise \(name) (sysctl -w \(name)=…), or end programs that watch many files"
            )
        )
    }

    private mutating func examineFileSystem(_ directory: SettingsDirectory) throws {
        let fileSystem = try system.fileSystem(of: directory.handle)
        let path = directory.handle.path
        let kind = Self.remote[fileSystem.type & 0xFFFF_FFFF]
        let files = fileSystem.freeFiles.map { ", \($0) more files" } ?? ""
        note("file system", "\(kind ?? "local"), \(fileSystem.freeSpace >> 10) KiB free\(files)")
        if let kind {
            add(
                Finding(
                    .disk,
                    isError: true,
                    path,
                    "the file system is \(kind), which other machines may use as well",
                    consequence: "locks and shared memory work within one machine, so changes can be lost",
                    remedy: "store the settings on a local file system (STORED_SETTINGS_HOME)"
                )
            )
        }
        var needed = Self.leastSpace
        for suffix in ["", SettingsFile.journalSuffix] {
            let size = try system.status(at: directory.name.adding(suffix), in: directory.handle)?.size ?? 0
            needed += 2 * min(size, SettingsFile.longestFile)
        }
        guard fileSystem.freeSpace < needed || fileSystem.freeFiles.map({ $0 < 8 }) ?? false else { return }
        add(
            Finding(
                .disk,
                isError: true,
                path,
                "the disk is full, or almost: there are \(fileSystem.freeSpace >> 10) KiB\(files) left",
                consequence: "values cannot be stored, or the settings file cannot be written",
                remedy: "free space on the disk, or raise the quota",
                code: .writeFailed
            )
        )
    }

    /// The types of file systems that several machines may share: see statfs(2).
    private static let remote = [
        0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB", 0x0102_1997: "9P", 0x00C3_6400: "Ceph",
        0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x7375_7245: "Coda", 0x0BD0_0BD0: "Lustre", 0x4750_4653: "GPFS",
        0x0116_1970: "GFS2", 0x7461_636F: "OCFS2", 0x1983_0326: "BeeGFS", 0x786F_4256: "a shared folder of VirtualBox",
        0x6573_5546: "FUSE",
    ]
    #endif
}
