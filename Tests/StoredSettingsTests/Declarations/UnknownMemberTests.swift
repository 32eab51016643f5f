// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Members that a structure does not have")
struct UnknownMemberTests {
    /// A structure with a member that has another name in files of earlier versions.
    private struct Renamed: Codable, Equatable, StoredValueConvertible {
        var burst = 20

        enum CodingKeys: CodingKey { case burst, brst }

        init() {}

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            burst = try container.decodeIfPresent(Int.self, forKey: .brst) ?? container.decode(Int.self, forKey: .burst)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            // A value that is the default is not written.
            if burst != 20 { try container.encode(burst, forKey: .burst) }
        }
    }

    private let reporter = RecordingReporter()

    /// Runs a body with a catalog of several structures over a file.
    private func withCatalog(
        _ file: String,
        sources: [SettingsSource] = [],
        _ body: (SettingsCatalog, _ path: String) async throws -> Void
    ) async throws {
        try await withSettingsPath { path in
            try path.replaceFile(with: file)
            let suite = SettingsSuite(fileAt: path, sources: sources, reporter: reporter)
            defer { suite.finish() }
            let catalog = SettingsCatalog(
                Setting("pace", default: Pace(), suite: suite),
                Setting("service", default: Service(), suite: suite),
                Setting("renamed", default: Renamed(), suite: suite),
                Setting("weights", default: ["a": 1], suite: suite),
                Setting<Pace?>("secret", default: nil, suite: suite, traits: .secret)
            )
            try await body(catalog, path)
        }
    }

    @Test("validation names each with its path, its place and the member that was probably meant")
    func places() async throws {
        let file = """
            {
              "pace": {"brust": 3},
              "service": {"pace": {"burst": 1, "x": 2}, "list": [{"burst": 1, "perSecond": 1, "brust": 2}]}
            }
            """
        try await withCatalog(file) { catalog, path in
            let errors = catalog.findProblems().errors
            #expect(errors.map(\.code) == [.unknownKey, .unknownKey, .unknownKey])
            #expect(
                errors.first?.message
                    == "setting 'pace' (\(path):2:11): at brust: the setting has no such member. The member "
                    + "has no effect. Rename it to 'burst' if that is meant, or remove it."
            )
            #expect(
                errors.dropFirst().map(\.path) == [
                    [.key("list"), .index(0), .key("brust")], [.key("pace"), .key("x")],
                ]
            )
            #expect(errors.last?.remedy == "remove it")
            #expect(errors.last?.location?.line == 3)
            #expect(throws: SettingsValidationError.self) { try catalog.validate() }
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test("like unknown keys, they are errors, warnings or accepted")
    func modes() async throws {
        try await withCatalog(#"{"pace": {"brust": 3}}"#) { catalog, _ in
            let accepted = catalog.findProblems(unknownKeys: .accept)
            #expect(accepted.errors.isEmpty && accepted.warnings.isEmpty)
            let found = catalog.findProblems(unknownKeys: .warn)
            #expect(found.errors.isEmpty)
            #expect(found.warnings.map(\.code) == [.unknownKey])
            let harness = CommandHarness(catalog[0].suite, catalog)
            #expect(await harness.run("validate").code == 78)
            #expect(await harness.run("validate", "--unknown-keys=warn").code == 0)
        }
    }

    @Test("a member is known if the type reads it, or is a name of a dictionary, or is null")
    func known() async throws {
        for file in [
            #"{"pace": {"burst": 3, "note": "x"}}"#, #"{"pace": {"burst": 3, "note": null, "other": null}}"#,
            #"{"renamed": {"brst": 3}}"#, #"{"renamed": {"brst": 20}}"#, #"{"renamed": {"burst": 20}}"#,
            #"{"weights": {"x": 3}}"#, #"{"service": {"byRegion": {"us": {"burst": 3, "perSecond": 1}}}}"#,
        ] {
            try await withCatalog(file) { catalog, _ in
                #expect(catalog.findProblems().errors.map(\.message) == [], "\(file)")
            }
        }
    }

    @Test("the member of a secret setting is not named")
    func secret() async throws {
        try await withCatalog(#"{"secret": {"burst": 3, "perSecond": 1, "hush": 3}}"#) { catalog, _ in
            let error = try #require(catalog.findProblems().errors.first)
            #expect(error.code == .unknownKey)
            #expect(!error.message.contains("hush") && error.path.isEmpty)
        }
    }

    @Test("those in a file of a layer are found there")
    func layers() async throws {
        try await withTemporaryDirectory { directory in
            let base = directory + "/base.json"
            try base.replaceFile(with: "{\n  \"pace\": {\"brust\": 3}\n}")
            try await withCatalog(#"{"pace": {"burst": 1}}"#, sources: [.file(base)]) { catalog, _ in
                let errors = catalog.findProblems().errors
                #expect(errors.map { $0.location?.description } == ["\(base):2:11"])
                #expect(errors.map(\.path) == [[.key("brust")]])
            }
        }
    }

    @Test("an import refuses them with their place, unless it is forced")
    func importing() async throws {
        try await withCatalog("{}") { catalog, _ in
            let suite = catalog[0].suite
            let harness = CommandHarness(suite, catalog).with(input: "{\n  \"pace\": {\"brust\": 3}\n}")
            let refused = await harness.run("import", "-")
            #expect(refused.code == 65)
            #expect(
                refused.errors.contains(
                    "(standard input:2:11): at brust: the setting has no such member. Nothing is changed. Rename it to 'burst' "
                        + "if that is meant, or remove it, or add --force to store it nevertheless."
                ),
                "\(refused.errors)"
            )
            #expect(suite.keys == [])
            #expect(await harness.run("import", "-", "--force").code == 0)
            #expect(suite[storedValueFor: "pace"] == ["brust": 3])
        }
    }
}
