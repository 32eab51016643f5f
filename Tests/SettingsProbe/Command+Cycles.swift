// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

extension Command {
    /// Opens, uses and closes suites, some with a set and some with a stream.
    ///
    /// Answers the number of open descriptors, mapped files below the directory, watches, and kilobytes of resident
    /// memory.
    @MainActor
    func cycle(beside suite: SettingsSuite, _ arguments: Arguments) async throws -> String {
        for number in 0..<(try arguments.integer(0)) {
            let path = "\(suite.name)-\(number % 4)"
            let setting = Setting("number", default: 0, suite: SettingsSuite(fileAt: path))
            _ = setting.value
            if number % 16 < 4 { try await setting.set(number) }
            if number % 50 < 4 {
                for await _ in setting.values { break }
            }
            // The other suites are released without `finish()`.
            if number % 3 == 0 { await setting.suite.finish() }
        }
        return try holdings(in: suite.name)
    }

    private func holdings(in directory: String) throws -> String {
        let process = "/proc/self"
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: process + "/fdinfo")
        let watches = try watches()
        let mappings = contents(of: process + "/maps")?.split(separator: "\n").count { $0.contains(directory) }
        let memory = contents(of: process + "/status")?.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        let kilobytes = memory?.split(separator: " ").dropFirst().first ?? "-1"
        return "\(descriptors.count) \(mappings ?? -1) \(watches) \(kilobytes)"
    }

    /// The number of inotify watches of this process.
    func watches() throws -> Int {
        var watches = 0
        for number in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fdinfo") {
            // The descriptor that listed the directory is closed by now.
            guard let text = contents(of: "/proc/self/fdinfo/\(number)") else { continue }
            watches += text.split(separator: "\n").count { $0.hasPrefix("inotify wd:") }
        }
        return watches
    }

    /// The contents of a file in `/proc`, whose reported length is 0, so it is read to the end.
    private func contents(of path: String) -> String? {
        do {
            let file = try SystemCalls().open(FilePath(path), O_RDONLY)
            return String(decoding: try SystemCalls().contents(of: file), as: UTF8.self)
        } catch {
            return nil
        }
    }
}
