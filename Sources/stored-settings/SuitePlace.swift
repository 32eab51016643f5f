// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsCommand

/// The suite that a command is about: in files, or in etcd.
protocol ToolPlace: Sendable {
    /// The suite as a person names it.
    var word: String { get }
    var suite: SettingsSuite { get }

    /// Waits until the newest values are known.
    ///
    /// - Throws: ``CommandFailure`` if they cannot be read.
    func refresh() throws

    /// Waits until the newest values are known, for a command that needs an existing suite.
    ///
    /// - Throws: ``CommandFailure`` if there is no suite, or if its values cannot be read.
    func checkIsThere() throws
}

/// A suite in files.
///
/// A person names it by a name, as a program passes it to `SettingsSuite("name")`, or a path with a slash: that of a settings file, or of the
/// directory that contains it. A directory without one needs a slash at its end.
struct SuitePlace: ToolPlace {
    /// The name or the path.
    let word: String
    /// The path of the settings file, which may be a link and need not exist.
    let file: FilePath
    let suite: SettingsSuite

    /// Finds the place of a suite, without opening or creating a file.
    ///
    /// - Throws: ``CommandFailure`` or ``SettingsError`` if there can be no such suite.
    init(_ word: String) throws {
        // Swift replaces such bytes, so that the word would name another suite.
        guard !word.isRepaired else {
            throw CommandFailure.usage(
                "the name of the suite is not text in UTF-8",
                fix: "Use a path in UTF-8, such as that of a link"
            )
        }
        self.word = word
        guard word.contains("/") else {
            let directory = try SettingsLocation.directory(forSuite: word, in: .process).get()
            file = directory.appending(SettingsLocation.fileName)
            suite = SettingsSuite(word)
            return
        }
        let path = SettingsLocation.absolute(FilePath(word))
        let directory = path.withoutTrailingSlashes
        let inner = directory.appending(SettingsLocation.fileName)
        // A directory can be in the place of a settings file, as Docker creates it for the mount of a missing file.
        let isDirectory = directory.name != SettingsLocation.fileName && (word.hasSuffix("/") || Self.isThere(inner))
        file = isDirectory ? inner : path
        let siblings = [SettingsFile.journalSuffix, SettingsFile.lastGoodSuffix, SettingsFile.lockSuffix]
        let name = file.name
        if let owner = siblings.compactMap({ name.removing($0) }).first {
            throw CommandFailure.usage(
                "\(file) belongs to the settings file \(owner)",
                fix: "Use the path of the settings file"
            )
        }
        if let problem = SettingsLocation.problem(with: file) { throw problem }
        suite = SettingsSuite(fileAt: file.description)
    }

    /// The suffixes of the files that show that values were stored once.
    private static let evidence = ["", SettingsFile.journalSuffix, SettingsFile.lastGoodSuffix]

    /// Whether there is a suite with a settings file, even one that cannot be read.
    private static func isThere(_ file: FilePath) -> Bool {
        do {
            let system = SystemCalls()
            return try evidence.contains { try system.linkStatus(at: file.adding($0)) != nil }
        } catch {
            return [Errno.permissionDenied, Errno.notPermitted].contains((error as? SystemError)?.number)
        }
    }

    /// Returns what on the way to a directory is none; `nil` if there is nothing, or only directories.
    private static func obstacle(at path: FilePath) -> String? {
        if path != path.directory, let obstacle = obstacle(at: path.directory) { return obstacle }
        do {
            let system = SystemCalls()
            guard try system.linkStatus(at: path) != nil else { return nil }
            guard let status = try system.status(at: path) else {
                return "\(path) is a symbolic link that leads to nothing. Correct the link, or mount what it leads to"
            }
            return status.isDirectory
                ? nil
                : "\(path) is not a directory. If it is the settings file, leave out what follows; otherwise use another path"
        } catch {
            return "\(error)"
        }
    }

    /// Does nothing: reads of files return the newest values.
    func refresh() {}

    /// Throws ``CommandFailure`` if there is no suite.
    func checkIsThere() throws {
        guard !Self.isThere(file) else { return }
        if let obstacle = Self.obstacle(at: file.directory) {
            throw CommandFailure(CommandExit.noInput, "there is no \(file), and there can be none: \(obstacle).")
        }
        throw CommandFailure(
            CommandExit.noInput,
            "there is no \(file). Nothing is created. Check the name or the path ('stored-settings suites' prints all names), "
                + "or set a value, which creates the suite."
        )
    }
}

// MARK: - All suites

extension SuitePlace {
    /// The names of the suites in the directory that the environment names, sorted.
    static func names() throws -> [String] {
        let system = SystemCalls()
        guard let base = SettingsLocation.baseDirectory(in: .process) else { return [] }
        return try names(in: base, system)
            .filter { name in
                let file = base.appending(name).appending(SettingsLocation.fileName)
                return evidence.contains { isThere(file.adding($0), system) }
            }
            .map { decoded($0.description) }
            .sorted()
    }

    private static func names(in directory: FilePath, _ system: SystemCalls) throws(SystemError) -> [FilePath] {
        do {
            return try system.names(in: system.openDirectory(directory))
        } catch  where error.number == Errno.noSuchFileOrDirectory {
            return []
        }
    }

    private static func isThere(_ path: FilePath, _ system: SystemCalls) -> Bool {
        do {
            return try system.linkStatus(at: path) != nil
        } catch {
            // Files in this directory are no directories, and some directories belong to other users.
            return false
        }
    }

    /// Returns the name of a suite whose directory has a name.
    private static func decoded(_ name: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(name.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
                bytes.append(code)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
