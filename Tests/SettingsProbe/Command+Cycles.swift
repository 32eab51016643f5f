// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

extension Command {
    /// Opens and closes suites beside one that is open, some with a set, some with a stream, and answers with the numbers
    /// of descriptors, of mappings of files there, of watches, and of kilobytes in memory.
    @MainActor
    func cycle(beside suite: SettingsSuite, _ arguments: Arguments) async throws -> String {
        for number in 0..<(try arguments.integer(0)) {
            let path = "\(suite.name)-\(number % 4)"
            let setting = Setting("number", default: 0, suite: SettingsSuite(fileAt: path))
            _ = setting.value
            if number % 16 < 4 { try setting.set(number) }
            if number % 50 < 4 {
                for await _ in setting.values { break }
            }
            // The others are let go of.
            if number % 3 == 0 { setting.suite.finish() }
        }
        return try holdings(in: suite.name)
    }

    private func holdings(in directory: String) throws -> String {
        let process = "/proc/self"
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: process + "/fdinfo")
        var watches = 0
        for number in descriptors {
            // The one that listed the others is gone by now.
            guard let text = contents(of: "\(process)/fdinfo/\(number)") else { continue }
            watches += text.split(separator: "\n").count { $0.hasPrefix("inotify wd:") }
        }
        let mappings = contents(of: process + "/maps")?.split(separator: "\n").count { $0.contains(directory) }
        let memory = contents(of: process + "/status")?.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        let kilobytes = memory?.split(separator: " ").dropFirst().first ?? "-1"
        return "\(descriptors.count) \(mappings ?? -1) \(watches) \(kilobytes)"
    }

    /// All of a file whose length the system does not tell, so that it has to be read to its end.
    private func contents(of path: String) -> String? {
        do {
            let file = try SystemCalls().open(FilePath(path), O_RDONLY)
            return String(decoding: try SystemCalls().contents(of: file), as: UTF8.self)
        } catch {
            return nil
        }
    }
}
