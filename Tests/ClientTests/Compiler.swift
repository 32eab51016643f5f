// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import Testing

/// The compiler of the toolchain that runs the tests, with the flags of this package and the built module.
struct Compiler {
    /// An error or a warning.
    struct Diagnostic: Hashable, CustomStringConvertible {
        /// The line of the source; 0 for a diagnostic about something else, such as the module.
        var line: Int
        var message: String

        var description: String { "\(line): \(message)" }
    }

    private let executable: URL
    private let modules: URL

    /// Finds the compiler and the module.
    init() throws {
        executable = try #require(Self.findExecutable(), "no swiftc in the PATH or beside the libraries in use")
        modules = try #require(Self.findModules(), "no StoredSettings.swiftmodule above the test executable")
    }

    /// Type-checks a source, which is passed by standard input so that no file is created.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - isProgram: Whether it may contain code at the top level.
    /// - Returns: The errors and warnings.
    /// - Throws: An error when the compiler cannot be run.
    func check(_ source: String, isProgram: Bool = false) throws -> [Diagnostic] {
        // For the modules that the compiler rebuilds, and the empty directory that it leaves behind.
        let temporary = FileManager.default.temporaryDirectory.appending(path: "Snippets-\(UUID())")
        try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: temporary) } }

        let words =
            [
                executable.path, "-typecheck", "-diagnostic-style", "llvm", "-swift-version", "6",
                "-module-name", "Snippets", "-module-cache-path", temporary.path, "-I", modules.path,
            ] + (isProgram ? [] : ["-parse-as-library"])
            + ["ExistentialAny", "MemberImportVisibility", "InternalImportsByDefault"]
            .flatMap { ["-enable-upcoming-feature", $0] } + ["-"]
        let environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": temporary.path]) { $1 }
        let process = try ChildProcess(words, environment: environment, input: .pipe)
        try process.write(source)
        process.closeInput()
        try process.waitUntilEnd()
        let text = process.output.text + process.errors.text
        return Self.diagnostics(in: text)
    }

    private static func diagnostics(in output: String) -> [Diagnostic] {
        output.split(separator: "\n")
            .compactMap { line in
                guard let match = line.wholeMatch(of: /(.*?): (?:error|warning): (.*)/) else { return nil }
                let place = match.1.split(separator: ":")
                let line = place.count == 3 && place[0] == "<stdin>" ? Int(place[1]) : nil
                return Diagnostic(line: line ?? 0, message: String(match.2))
            }
    }

    // MARK: - Search

    private static func findExecutable() -> URL? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let besideLibraries = loadedLibraries()
            .filter { $0.lastPathComponent.hasPrefix("libswiftCore") }
            .flatMap { library in
                ancestors(of: library).map { $0.appending(path: "bin") }
            }
        return (besideLibraries + path.split(separator: ":").map { URL(filePath: String($0)) })
            .map { $0.appending(path: "swiftc") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }

    /// The files that this process has mapped, as far as the system reports them.
    private static func loadedLibraries() -> [URL] {
        guard let maps = FileManager.default.contents(atPath: "/proc/self/maps") else { return [] }
        let paths = String(decoding: maps, as: UTF8.self)
            .split(separator: "\n")
            .compactMap { line in line.firstIndex(of: "/").map { String(line[$0...]) } }
        return Set(paths).sorted().map { URL(filePath: $0) }
    }

    private static func findModules() -> URL? {
        let start = CommandLine.arguments.prefix(1).map { URL(filePath: $0) } + [Bundle.main.bundleURL]
        for directory in start.flatMap({ ancestors(of: $0.standardizedFileURL) }) {
            for modules in [directory.appending(path: "Modules"), directory] {
                let module = modules.appending(path: "StoredSettings.swiftmodule").path
                if FileManager.default.fileExists(atPath: module) { return modules }
            }
        }
        return nil
    }

    /// The directories above a file, the nearest first.
    private static func ancestors(of file: URL) -> [URL] {
        var directories: [URL] = []
        var directory = file.deletingLastPathComponent()
        while directory.pathComponents.count > 1 {
            directories.append(directory)
            directory.deleteLastPathComponent()
        }
        return directories
    }
}
