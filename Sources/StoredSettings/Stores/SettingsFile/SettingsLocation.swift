// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "A suite may have any name".

/// The environment that determines where a suite's file is.
package struct SettingsEnvironment: Sendable {
    package var variable: @Sendable (_ name: String) -> FilePath?
    /// The home directory from the user database, which is used if `HOME` is not set.
    package var homeDirectoryOfUser: @Sendable () -> FilePath?
    package var executableName: String

    /// The environment of this process.
    package static var process: SettingsEnvironment {
        let path = SystemCalls.executablePath()?.withoutTrailingSlashes ?? "standard"
        return SettingsEnvironment(
            variable: SystemCalls.environmentPath,
            homeDirectoryOfUser: SystemCalls.homeDirectoryOfUser,
            executableName: path.name.description
        )
    }
}

extension SettingsEnvironment {
    /// The name of the standard suite: that of the executable, without a version at its end.
    ///
    /// Otherwise a tool that is installed as `tool-1.2.4` would lose its settings with every update. A version has at least two
    /// numbers, and follows a dash, an underscore or an at sign, perhaps with a `v`.
    var standardSuiteName: String {
        var name = executableName[...]
        while let last = name.last, last == "." || last.isASCII && last.isNumber { name.removeLast() }
        let version = executableName[name.endIndex...]
        let numbers = version.split(separator: ".", omittingEmptySubsequences: false)
        guard numbers.count > 1, numbers.allSatisfy({ !$0.isEmpty }) else { return executableName }
        if name.last == "v" { name.removeLast() }
        guard let separator = name.popLast(), "-_@".contains(separator), !name.isEmpty else {
            return executableName
        }
        return String(name)
    }
}

/// Determines the locations of settings files.
package enum SettingsLocation {
    package static let fileName: FilePath = "settings.json"

    /// Returns the directory of a suite.
    package static func directory(
        forSuite name: String,
        in environment: SettingsEnvironment
    ) -> Result<FilePath, SettingsError> {
        let component = directoryName(forSuite: name)
        guard !component.isEmpty, component.utf8.count <= FilePath.longestName else {
            let fact = name.isEmpty ? "the suite's name is empty" : "the suite's name is too long for a directory"
            let most = FilePath.longestName
            let remedy = "use a name of 1 to \(most) bytes; each byte that is percent-encoded counts as 3"
            return .failure(unavailable(fact, remedy: remedy))
        }
        guard let base = baseDirectory(in: environment) else {
            let state = environment.variable("HOME") == nil ? "not set" : "not an absolute path"
            let fact = "there is no directory for settings: HOME is \(state), and the user has no home directory"
            return .failure(unavailable(fact, remedy: "set STORED_SETTINGS_HOME to a directory"))
        }
        let directory = base.appending(FilePath(component))
        return problem(with: directory).map { .failure($0) } ?? .success(directory)
    }

    package static func baseDirectory(in environment: SettingsEnvironment) -> FilePath? {
        func absolutePath(_ name: String) -> FilePath? {
            environment.variable(name).flatMap { $0.isAbsolute ? $0.withoutTrailingSlashes : nil }
        }
        if let home = environment.variable("STORED_SETTINGS_HOME"), !home.isEmpty {
            return absolute(home).withoutTrailingSlashes
        }
        // systemd lists every state directory of the unit. The first is the unit's own.
        if let states = environment.variable("STATE_DIRECTORY")?.bytes.split(separator: UInt8(ascii: ":")),
            let first = states.map(FilePath.init(bytes:)).first(where: \.isAbsolute)
        {
            return first.withoutTrailingSlashes
        }
        #if canImport(Darwin)
        let name: FilePath = "Library/Application Support"
        #else
        if let configuration = absolutePath("XDG_CONFIG_HOME") { return configuration }
        let name: FilePath = ".config"
        #endif
        let ofUser = environment.homeDirectoryOfUser().flatMap { $0.isAbsolute ? $0.withoutTrailingSlashes : nil }
        return (absolutePath("HOME") ?? ofUser)?.appending(name)
    }

    /// Returns the name as one path component.
    ///
    /// Characters that could lead elsewhere are percent-encoded.
    static func directoryName(forSuite name: String) -> String {
        var result = ""
        for (index, scalar) in name.unicodeScalars.enumerated() {
            let isUnsafe =
                scalar == "/" || scalar == "\\" || scalar == "%" || (scalar == "." && index == 0)
                || scalar.value < 0x20 || scalar.value == 0x7F
            if isUnsafe {
                let digits = String(scalar.value, radix: 16, uppercase: true)
                result += "%" + (digits.count < 2 ? "0" : "") + digits
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func unavailable(_ fact: String, remedy: String) -> SettingsError {
        SettingsError(
            .locationUnavailable,
            fact: fact,
            consequence: "nothing can be stored",
            remedy: remedy
        )
    }

    /// Returns the absolute path, which does not depend on later changes of the current directory.
    package static func absolute(_ path: FilePath) -> FilePath {
        guard !path.isAbsolute, let current = SystemCalls.currentDirectory() else { return path }
        return current.appending(path)
    }

    /// Returns the error that explains why no file can be at a path; `nil` when one can be.
    package static func problem(with path: FilePath) -> SettingsError? {
        guard path.isAbsolute || path.isEmpty else {
            let remedy = "give the suite an absolute path, or call chdir first"
            return unavailable(
                "the current directory does not exist any more, or is outside the root directory",
                remedy: remedy
            )
        }
        let hasNull = path.bytes.contains(0)
        guard hasNull || !path.namesFile else { return nil }
        let fact = hasNull ? "the path contains a NUL character" : "the path names a directory"
        return unavailable(fact, remedy: "give the suite the path of a file, such as /etc/acme/settings.json")
    }
}

/// Follows the links of a settings file's path.
package enum SettingsPath {
    /// Returns the file that a path leads to when its last component is a link, whether or not the file exists.
    ///
    /// - Throws: ``SystemError``, or ``SettingsError`` if a link must not be followed.
    package static func target(of path: FilePath, _ system: SystemCalls) throws -> FilePath {
        var path = path
        for _ in 0..<FilePath.mostLinks {
            guard let status = try system.linkStatus(at: path), status.isLink else { return path }
            let target = path.directory.appending(try system.target(ofLink: path))
            // A user must not be able to redirect another user's writes, and those of root in particular, to a file or
            // directory that the first user does not own. So the link has to belong to the user of this process, to root, or
            // to the owner of its target.
            if status.owner != 0, status.owner != SystemCalls.currentUser() {
                let owner = try system.status(at: target)?.owner ?? system.status(at: target.directory)?.owner
                guard owner == status.owner else {
                    throw SettingsError.untrustedLink(path, owner: status.owner)
                }
            }
            path = target
        }
        throw SystemError(call: .open, path: path, number: Errno.tooManySymbolicLinkLevels)
    }

    /// Opens the file that a path leads to.
    ///
    /// Several calls follow the path. When a link of it is replaced and its old target removed in between, they find nothing,
    /// although the path leads to a file all the time.
    ///
    /// - Returns: The file, which need not be a regular one; `nil` if there is none.
    /// - Throws: ``SystemError``, with `EINVAL` for what has no path, or ``SettingsError`` if a link must not be followed.
    static func open(
        _ path: FilePath,
        _ system: SystemCalls,
        _ openTarget: (_ target: FilePath, _ flags: CInt) throws -> FileHandle?
    ) throws -> FileHandle? {
        // A FIFO at the path must not block this process until there is a writer. A link that has just replaced the
        // file is not followed without a check.
        let flags = OpenFlags.readOnly | OpenFlags.nonBlocking | OpenFlags.noFollow
        for _ in 0..<FilePath.mostLinks {
            if let handle = try openTarget(target(of: path, system), flags) { return handle }
            guard let status = try system.status(at: path) else { return nil }
            // The links in /dev/fd lead to pipes, sockets and removed files, too.
            guard status.isRegular, status.linkCount > 0 else {
                throw SystemError(call: .open, path: path, number: Errno.invalidArgument)
            }
        }
        throw SystemError(call: .open, path: path, number: Errno.noSuchFileOrDirectory)
    }

    /// Returns the same path for all paths that lead to one file, whether or not the file exists.
    static func identity(of path: FilePath, _ system: SystemCalls) -> FilePath {
        do {
            let target = try target(of: path, system)
            if let resolved = try system.resolved(target) { return resolved }
            let directory = target.directory
            guard directory != target else { return target }
            return (directory == "/" || directory == "." ? directory : identity(of: directory, system))
                .appending(target.name)
        } catch {
            // A path that cannot be followed is identified by its spelling. Using it throws the error.
            return path
        }
    }
}
