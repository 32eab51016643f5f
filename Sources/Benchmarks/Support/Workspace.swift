// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The run's own directory, which contains all files, including Foundation's preferences.
final class Workspace {
    private let directory: String
    private var lastNumber = 0

    init(_ directory: String) {
        self.directory = directory
    }

    static func makeDirectory() throws -> String {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = "\(parent)/StoredSettingsBenchmarks.XXXXXX".utf8CString
        // The call replaces the last six characters in place.
        let isMade = template.withUnsafeMutableBufferPointer { $0.baseAddress.flatMap { mkdtemp($0) } != nil }
        guard isMade else { throw UsageError("cannot create a directory in \(parent)") }
        return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    static func remove(_ directory: String) {
        do {
            try FileManager.default.removeItem(atPath: directory)
        } catch {
            Console.printError("Benchmarks: cannot remove \(directory): \(error)")
        }
    }

    /// A new path in its own directory.
    func newPath() throws -> String {
        lastNumber += 1
        let parent = "\(directory)/\(lastNumber)"
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: false)
        return "\(parent)/settings.json"
    }

    /// Writes a settings file with `count` integers under ``key(_:)``.
    func settingsFile(keys count: Int) throws -> String {
        let path = try newPath()
        let lines = (0..<count).map { "  \"\(Self.key($0))\": \($0)" }
        try Data("{\n\(lines.joined(separator: ",\n"))\n}\n".utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// A suite over such a file.
    func suite(keys count: Int) throws -> SettingsSuite {
        SettingsSuite(fileAt: try settingsFile(keys: count))
    }

    /// A named suite, which is stored in this directory as well.
    func suite(named name: String) throws -> SettingsSuite {
        let suite = SettingsSuite(name)
        guard case .durable(let path) = suite.persistence, path.hasPrefix("\(directory)/") else {
            throw Failure("named suites are not stored in the run's directory")
        }
        return suite
    }

    /// A `UserDefaults` object with the same contents.
    func userDefaults(keys count: Int) throws -> UserDefaults {
        lastNumber += 1
        let name = "benchmark\(lastNumber)"
        let contents = Dictionary(uniqueKeysWithValues: (0..<count).map { (Self.key($0), $0) })
        #if os(Linux)
        // The location on Linux. Setting the values one by one would take seconds, because each set takes longer the
        // more values there are.
        let bytes = try PropertyListSerialization.data(fromPropertyList: contents, format: .binary, options: 0)
        try bytes.write(to: URL(fileURLWithPath: "\(directory)/\(name).plist"))
        #endif
        guard let defaults = UserDefaults(suiteName: name) else { throw Failure("there is no UserDefaults \(name)") }
        #if !os(Linux)
        defaults.setPersistentDomain(contents, forName: name)
        #endif
        guard defaults.integer(forKey: Self.key(count - 1)) == count - 1 else {
            throw Failure("UserDefaults does not store its files in the run's directory")
        }
        return defaults
    }

    static func key(_ index: Int) -> String {
        "key" + String(100_000 + index).dropFirst()
    }

    /// The type of the directory's file system, which determines the time to wait for the disk.
    var fileSystem: String {
        do {
            let mounts = try String(contentsOfFile: "/proc/self/mounts", encoding: .utf8).split(separator: "\n")
            let fields = mounts.map { $0.split(separator: " ") }.filter { $0.count > 2 }
            let nearest = fields.filter { "\(directory)/".hasPrefix($0[1] == "/" ? "/" : "\($0[1])/") }
                .max { $0[1].count < $1[1].count }
            return nearest.map { String($0[2]) } ?? "an unknown file system"
        } catch {
            return "an unknown file system"
        }
    }
}
