// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

@testable import StoredSettings

/// A disk that records what a power loss would leave of each file and directory.
///
/// A file retains the contents of its last synchronization, or nothing if it was never synchronized. A directory
/// retains its names from its last synchronization. Of the later changes, any number may remain, in their order.
struct SimulatedDisk {
    /// Identifies a file or a directory, independently of its names.
    typealias ID = Int

    private let root: String
    /// The contents of each file over time: the first are durable, the last are current.
    private(set) var files: [ID: [[UInt8]]] = [:]
    /// The names in each directory over time: the first are durable, the last are current.
    private(set) var directories: [ID: [[String: ID]]] = [:]

    static let rootID: ID = 0
    private var lastID = Self.rootID
    /// The identifiers of the current inodes.
    ///
    /// The system reuses inode numbers.
    private var idsOfInodes: [UInt64: ID] = [:]
    /// The last identifier at each path: an open file may have been renamed since.
    private var idsAtPaths: [String: ID] = [:]

    /// Creates a disk with the contents of a directory, all of which are durable.
    init(root: String) throws {
        self.root = root
        try scan()
        synchronizeAll()
    }

    private mutating func synchronizeAll() {
        files = files.mapValues { Array($0.suffix(1)) }
        directories = directories.mapValues { Array($0.suffix(1)) }
    }

    // MARK: - Changing

    /// Records the current contents of the directory.
    mutating func scan() throws {
        let before = idsOfInodes
        idsOfInodes = [:]
        try scan(at: root, as: Self.rootID, before)
    }

    private mutating func scan(at path: String, as id: ID, _ before: [UInt64: ID]) throws {
        var names: [String: ID] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            let path = "\(path)/\(name)"
            guard let status = try SystemCalls().linkStatus(at: FilePath(path)) else { continue }
            let id = before[status.inode] ?? newID()
            idsOfInodes[status.inode] = id
            idsAtPaths[path] = id
            names[name] = id
            if status.isDirectory {
                try scan(at: path, as: id, before)
            } else {
                let bytes = try SystemCalls().contents(of: SystemCalls().open(path, 0))
                // A durable name does not make the file's contents durable.
                if files[id, default: [[]]].last != bytes { files[id, default: [[]]].append(bytes) }
            }
        }
        if directories[id]?.last != names { directories[id, default: [[:]]].append(names) }
    }

    private mutating func newID() -> ID {
        lastID += 1
        return lastID
    }

    /// Records that the file at a path, or the file that was opened there, was synchronized.
    mutating func synchronize(_ path: String) {
        guard let id = path == root ? Self.rootID : idsAtPaths[path] else { return }
        if let versions = files[id] { files[id] = Array(versions.suffix(1)) }
        if let versions = directories[id] { directories[id] = Array(versions.suffix(1)) }
    }

    /// Records that a name, its file and its directory have become durable.
    mutating func makeDurable(_ path: String) {
        synchronize(path)
        var path = path
        while path != root, let end = path.lastIndex(of: "/"), let id = idsAtPaths[path] {
            let name = String(path[path.index(after: end)...])
            path = String(path[..<end])
            let directory = path == root ? Self.rootID : idsAtPaths[path] ?? Self.rootID
            directories[directory] = directories[directory]?
                .map { names in
                    var names = names
                    names[name] = id
                    return names
                }
        }
    }

    // MARK: - Crashing

    /// The files after the process dies: everything that it has written.
    var now: DiskImage {
        var unused = SeededGenerator(seed: 0)
        return image(
            using: &unused,
            names: { names, _ in names[names.count - 1] },
            bytes: { versions, _ in versions[versions.count - 1] }
        )
    }

    /// The files after a power loss, chosen from the states of each directory and file since they were durable.
    func image(
        using generator: inout SeededGenerator,
        names: ([[String: ID]], inout SeededGenerator) -> [String: ID],
        bytes: ([[UInt8]], inout SeededGenerator) -> [UInt8]
    ) -> DiskImage {
        var image = DiskImage()
        func add(_ id: ID, at path: String) {
            if let versions = files[id] {
                image.entries[path] = .file(bytes(versions, &generator))
                return
            }
            guard let versions = directories[id] else { return }
            if !path.isEmpty { image.entries[path] = .directory }
            for (name, id) in names(versions, &generator).sorted(by: { $0.key < $1.key }) {
                add(id, at: path.isEmpty ? name : "\(path)/\(name)")
            }
        }
        add(Self.rootID, at: "")
        return image
    }
}
