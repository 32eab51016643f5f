// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// All tests that use `UserDefaults`, one at a time: what is registered is registered for the whole process, and reading it
/// meanwhile is a race in Foundation on Linux.
@Suite("UserDefaults", .serialized)
struct UserDefaultsTests {}

/// A domain of a test's own, with nothing in it, and gone at the end.
struct TestDomain: Sendable {
    let name: String

    /// Another object over the domain each time.
    func open() throws -> UserDefaults {
        try #require(UserDefaults(suiteName: name))
    }

    /// The file that Foundation keeps it in on Linux.
    var file: String { "\(name).plist" }

    /// Its contents as another process finds them.
    var contentsOnDisk: [String: Any] {
        get throws {
            let data = try Data(contentsOf: URL(fileURLWithPath: file))
            return try #require(
                try PropertyListSerialization.propertyList(from: data, options: [], format: nil) as? [String: Any]
            )
        }
    }

    /// Writes the file as another process does.
    func overwrite(with contents: [String: Any]) throws {
        try PropertyListSerialization.data(fromPropertyList: contents, format: .xml, options: 0)
            .write(to: URL(fileURLWithPath: file))
    }
}

/// Runs a body with a domain of its own.
func withDomain<Result>(_ body: (TestDomain) async throws -> Result) async throws -> Result {
    #if canImport(ObjectiveC)
    let domain = TestDomain(name: "StoredSettings-\(UUID().uuidString)")
    defer { UserDefaults.standard.removePersistentDomain(forName: domain.name) }
    return try await body(domain)
    #else
    // Here a name that is a path is taken for one.
    return try await withTemporaryDirectory { directory in
        // What is not written yet would be together with another test's domain, and would make the directory again.
        defer { UserDefaults(suiteName: "\(directory)/domain")?.synchronize() }
        return try await body(TestDomain(name: "\(directory)/domain"))
    }
    #endif
}

/// Runs a body with as many domains as it wants.
func withDomains<Result>(_ body: (@escaping @Sendable () -> TestDomain) async throws -> Result) async throws -> Result {
    try await withDomain { parent in
        try await body { TestDomain(name: "\(parent.name)-\(UUID().uuidString)") }
    }
}
