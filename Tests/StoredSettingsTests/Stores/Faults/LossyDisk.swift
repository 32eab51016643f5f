// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

@testable import StoredSettings

/// A disk that loses the unwritten contents of a directory's files when one synchronization fails.
///
/// It behaves like Linux: the failure is reported once, and the lost contents count as written from then on. A later
/// synchronization makes only later changes durable.
final class LossyDisk: Sendable {
    private struct State {
        var syncsLeft: Int
        /// The durable contents, by inode.
        var files: [UInt64: [UInt8]] = [:]
        /// The contents that the failed synchronization lost, by inode.
        var lost: [UInt64: [UInt8]] = [:]
        var names: [String: UInt64] = [:]
        var lostNames: [String: UInt64] = [:]
        var failedPath: String?
        var failure: (any Error)?
        /// Open, so that no other file receives their inodes.
        var handles: [StoredSettings.FileHandle] = []
    }

    private static let sector = 512
    private let directory: String
    private let state: Mutex<State>

    /// Creates a disk on which one synchronization of an empty directory or its files fails, counted from 1.
    init(_ directory: String, failingSync number: Int) {
        self.directory = directory
        state = Mutex(State(syncsLeft: number))
    }

    var failedPath: String? { state.withLock(\.failedPath) }

    var system: SystemCalls {
        SystemCalls(
            fault: { [self] call, path in
                guard call == .sync else { return nil }
                return state.withLock { state in
                    state.syncsLeft -= 1
                    guard state.syncsLeft == 0 else { return nil }
                    state.failedPath = path
                    capturingFailure(in: &state) { try fail(path, &$0) }
                    return EIO
                }
            },
            witness: { [self] call, path in
                guard call == .sync else { return }
                state.withLock { state in capturingFailure(in: &state) { try succeed(path, &$0) } }
            }
        )
    }

    private func capturingFailure(in state: inout State, _ body: (inout State) throws -> Void) {
        do { try body(&state) } catch { state.failure = error }
    }

    private func inode(at path: String) throws -> UInt64? { try SystemCalls().status(at: path)?.inode }

    private func bytes(at path: String, _ state: inout State) throws -> [UInt8] {
        state.handles.append(try SystemCalls().open(FilePath(path), O_RDONLY))
        return try Array(Data(contentsOf: URL(fileURLWithPath: path)))
    }

    private func currentNames() throws -> [String: UInt64] {
        var names: [String: UInt64] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
            names[name] = try inode(at: "\(directory)/\(name)")
        }
        return names
    }

    private func fail(_ path: String, _ state: inout State) throws {
        if path == directory {
            state.lostNames = try currentNames()
        } else if let inode = try inode(at: path) {
            state.lost[inode] = try bytes(at: path, &state)
        }
    }

    private func succeed(_ path: String, _ state: inout State) throws {
        if path == directory {
            let names = try currentNames()
            for (name, inode) in names where state.lostNames[name] != inode { state.names[name] = inode }
            for name in state.names.keys where names[name] == nil { state.names[name] = nil }
        } else if let inode = try inode(at: path) {
            var new = try bytes(at: path, &state)
            let (lost, old) = (state.lost[inode] ?? [], state.files[inode] ?? [])
            for start in stride(from: 0, to: min(new.count, lost.count), by: Self.sector) {
                let range = start..<min(start + Self.sector, new.count)
                guard lost.count >= range.upperBound, lost[range] == new[range] else { continue }
                for index in range { new[index] = index < old.count ? old[index] : 0 }
            }
            state.files[inode] = new
        }
    }

    /// Writes the files that a power loss would leave into another directory.
    func writeImage(to path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let (names, files, failure) = state.withLock { ($0.names, $0.files, $0.failure) }
        if let failure { throw failure }
        for (name, inode) in names {
            try Data(files[inode] ?? []).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
        }
    }
}
