// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

@testable import StoredSettings

/// A disk that knows, of every file and directory, what of it would be left by a loss of power.
///
/// A file keeps what was in it when it was last synchronized, and nothing if it never was; a directory keeps the names
/// that were in it then. Of what came later anything may be left, in the order in which it came.
struct SimulatedDisk {
    /// A file or a directory, whatever its names are.
    typealias ID = Int

    private let root: String
    /// What each file has held: first what is safe, last what it holds now.
    private(set) var files: [ID: [[UInt8]]] = [:]
    /// The names that each directory has had: first those that are safe, last those that it has now.
    private(set) var directories: [ID: [[String: ID]]] = [:]

    static let rootID: ID = 0
    private var lastID = Self.rootID
    /// The numbers by which the system calls what there is now; it gives them again to others later.
    private var idsOfInodes: [UInt64: ID] = [:]
    /// What was last seen at each path: a file that is open may have been renamed since.
    private var idsAtPaths: [String: ID] = [:]

    /// Creates a disk of what is in a directory, all of which is safe.
    init(root: String) throws {
        self.root = root
        try look()
        synchronizeAll()
    }

    private mutating func synchronizeAll() {
        files = files.mapValues { Array($0.suffix(1)) }
        directories = directories.mapValues { Array($0.suffix(1)) }
    }

    // MARK: - What happens to it

    /// Takes note of what is in the directory by now.
    mutating func look() throws {
        let before = idsOfInodes
        idsOfInodes = [:]
        try look(at: root, as: Self.rootID, before)
    }

    private mutating func look(at path: String, as id: ID, _ before: [UInt64: ID]) throws {
        var names: [String: ID] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            let path = "\(path)/\(name)"
            guard let status = try SystemCalls().status(at: path, followingLinks: false) else { continue }
            let id = before[status.inode] ?? newID()
            idsOfInodes[status.inode] = id
            idsAtPaths[path] = id
            names[name] = id
            if status.isDirectory {
                try look(at: path, as: id, before)
            } else {
                let bytes = try SystemCalls().contents(of: SystemCalls().open(path, 0))
                // A name that is safe is no promise for what it names.
                if files[id, default: [[]]].last != bytes { files[id, default: [[]]].append(bytes) }
            }
        }
        if directories[id]?.last != names { directories[id, default: [[:]]].append(names) }
    }

    private mutating func newID() -> ID {
        lastID += 1
        return lastID
    }

    /// Takes note that what is at a path, or was there when it was opened, was synchronized.
    mutating func synchronize(_ path: String) {
        guard let id = path == root ? Self.rootID : idsAtPaths[path] else { return }
        if let versions = files[id] { files[id] = Array(versions.suffix(1)) }
        if let versions = directories[id] { directories[id] = Array(versions.suffix(1)) }
    }

    /// Takes note that a name has been made safe, together with what it names and the directory it is in.
    mutating func makeSafe(_ path: String) {
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

    // MARK: - What is left

    /// What the process leaves when it dies: all that it has written.
    var now: DiskImage {
        var unused = SeededGenerator(seed: 0)
        return image(
            using: &unused,
            names: { names, _ in names[names.count - 1] },
            bytes: { versions, _ in versions[versions.count - 1] }
        )
    }

    /// What is left on the disk, by a choice among what each directory and each file has held since it was safe.
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
