// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The users and groups that the system knows.
///
/// The functions of the C library return memory that the next call replaces. Only the main thread of the command makes these calls.
enum UserDatabase {
    /// The number that the system shows for a user of another namespace: see `/proc/sys/kernel/overflowuid`.
    static let unknownUser: UInt32 = 65_534

    /// Whether a group has no other members than some users, or is that of root.
    ///
    /// Of a group that is not in the database, the members are unknown. By convention, the group with the number of one of the users is
    /// that user's own.
    static func isGroup(_ group: UInt32, of users: Set<UInt32>) -> Bool {
        guard group != 0 else { return true }
        guard let entry = getgrgid(group) else { return users.contains(group) }
        var names: [String] = []
        var next = entry.pointee.gr_mem
        // The list of names ends with a null pointer.
        while let name = next?.pointee {
            names.append(String(cString: name))
            next = next?.advanced(by: 1)
        }
        let others = names.filter { name in getpwnam(name).map { !users.contains($0.pointee.pw_uid) } ?? true }
        guard others.isEmpty else { return false }
        setpwent()
        defer { endpwent() }
        while let user = getpwent() {
            if user.pointee.pw_gid == group, !users.contains(user.pointee.pw_uid) { return false }
        }
        return true
    }
}
