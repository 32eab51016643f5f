// SPDX-License-Identifier: Apache-2.0

/// A path in its parts, and where it leads.
enum SettingsPath {
    /// How many links are followed before it is called a circle, as Linux has it.
    private static let mostLinks = 40

    static func directory(of path: String) -> String {
        guard let end = path.lastIndex(of: "/") else { return "." }
        return end == path.startIndex ? "/" : String(path[..<end])
    }

    static func name(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    }

    static func join(_ directory: String, _ name: String) -> String {
        directory == "/" ? "/\(name)" : "\(directory)/\(name)"
    }

    /// The file that a path leads to when its last component is a link, be the file there or not.
    static func target(of path: String, _ system: SystemCalls) throws(SystemError) -> String {
        var path = path
        for _ in 0..<mostLinks {
            guard let status = try system.status(at: path, followingLinks: false), status.isLink else { return path }
            let link = try system.target(ofLink: path)
            path = link.hasPrefix("/") ? link : join(directory(of: path), link)
        }
        return path
    }

    /// One spelling for all paths that lead to one file, be it there or not.
    static func identity(of path: String, _ system: SystemCalls) -> String {
        do {
            let target = try target(of: path, system)
            if let resolved = try system.resolved(target) { return resolved }
            let directory = directory(of: target)
            guard directory != target else { return target }
            return join(
                directory == "/" || directory == "." ? directory : identity(of: directory, system),
                name(of: target)
            )
        } catch {
            // A path that cannot be followed is told apart by its spelling; using it will tell what is wrong with it.
            return path
        }
    }
}
