// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// All tests that use `UserDefaults`, serialized.
///
/// Registered values apply to the whole process, and reading them during a registration is a race in Foundation on
/// Linux.
@Suite("UserDefaults", .serialized)
struct UserDefaultsTests {}

/// A test's own domain, which is empty and removed at the end.
struct TestDomain: Sendable {
    let name: String

    /// A new object over the domain each time.
    func open() throws -> UserDefaults {
        try #require(UserDefaults(suiteName: name))
    }

    /// The file of the domain on Linux.
    var file: String { "\(name).plist" }

    /// The contents as another process reads them.
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

/// Runs a body with its own domain.
func withDomain<Result>(_ body: (TestDomain) async throws -> Result) async throws -> Result {
    #if canImport(ObjectiveC)
    let domain = TestDomain(name: "StoredSettings-\(UUID().uuidString)")
    defer { UserDefaults.standard.removePersistentDomain(forName: domain.name) }
    return try await body(domain)
    #else
    // On this platform, a name that is a path is used as one.
    return try await withTemporaryDirectory { directory in
        // Pending writes would be written together with another test's domain, and would create the directory again.
        defer { UserDefaults(suiteName: "\(directory)/domain")?.synchronize() }
        return try await body(TestDomain(name: "\(directory)/domain"))
    }
    #endif
}

/// Runs a body with an object over its own domain.
func withDefaults<Result>(_ body: (UserDefaults, TestDomain) async throws -> Result) async throws -> Result {
    try await withDomain { domain in try await body(domain.open(), domain) }
}

/// Runs a body that can create any number of domains.
func withDomains<Result>(_ body: (@escaping @Sendable () -> TestDomain) async throws -> Result) async throws -> Result {
    try await withDomain { parent in
        try await body { TestDomain(name: "\(parent.name)-\(UUID().uuidString)") }
    }
}
