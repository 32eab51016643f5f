// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "A suite may have any name".

/// The environment that determines where a suite's file is.
package struct SettingsEnvironment: Sendable {
    package var variable: @Sendable (_ name: String) -> FilePath?
    /// The home directory from the user database, which is used if `HOME` is not set.
    package var homeDirectoryOfUser: @Sendable () -> FilePath?
    package var executableName: String

    package init(
        variable: @escaping @Sendable (_ name: String) -> FilePath?,
        homeDirectoryOfUser: @escaping @Sendable () -> FilePath?,
        executableName: String
    ) {
        self.variable = variable
        self.homeDirectoryOfUser = homeDirectoryOfUser
        self.executableName = executableName
    }

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
        guard let separator = name.popLast(), "-_@".contains(separator), !name.isEmpty else { return executableName }
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
        let component = fileName(forSuite: name)
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
        return .success(base.appending(FilePath(component)))
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
        #if !canImport(Darwin)
        if let configuration = absolutePath("XDG_CONFIG_HOME") { return configuration }
        #endif
        let ofUser = environment.homeDirectoryOfUser().flatMap { $0.isAbsolute ? $0.withoutTrailingSlashes : nil }
        #if canImport(Darwin)
        return (absolutePath("HOME") ?? ofUser)?.appending("Library/Application Support")
        #else
        return (absolutePath("HOME") ?? ofUser)?.appending(".config")
        #endif
    }

    /// Returns the name as one path component.
    ///
    /// Characters that could lead elsewhere are percent-encoded.
    static func fileName(forSuite name: String) -> String {
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
        let fact =
            if path.bytes.contains(0) {
                "the path contains a NUL character"
            } else if !path.namesFile {
                "the path names a directory"
            } else {
                String?.none
            }
        return fact.map {
            unavailable($0, remedy: "give the suite the path of a file, such as /etc/acme/settings.json")
        }
    }
}
