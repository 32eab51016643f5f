// SPDX-License-Identifier: Apache-2.0

// A ConfigMap beneath values that are set at run time, and a Secret above them:
//
//     swift run kubernetes
//
// In a cluster the directories come from manifests/. Here the program acts out what the kubelet does: it creates the
// files of a mounted ConfigMap and of a Secret, and replaces them by swapping the link `..data`.

import ExampleSettings
import Foundation
import StoredSettings

struct ServerSettings: Sendable {
    @DefaultStorage(key: "limit", in: 1...1_000, help: "Requests per second.") var limit = 10
    @DefaultStorageOptional(key: "apiToken", help: "Token for the upstream API.", traits: .secret)
    var apiToken: String?
}

@main
struct Kubernetes {
    static func main() async {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        var failure: (any Error)?
        do {
            try await run(in: directory)
        } catch {
            failure = error
        }
        do {
            try FileManager.default.removeItem(atPath: directory)
        } catch {
            failure = failure ?? error
        }
        if let failure { Console.fail("kubernetes: \(failure)") }
    }

    private static func run(in directory: String) async throws {
        let configMap = Mount("\(directory)/config")
        let secret = Mount("\(directory)/secrets")
        try configMap.update(["settings.json": #"{ "limit": 20 }"#])
        try secret.update(["apiToken": "first\n"])

        // What a program in a cluster does, with /etc/acme in place of the directory.
        let suite = SettingsSuite(
            fileAt: "\(directory)/state/settings.json",
            sources: [.secrets(directory: secret.path), .file("\(configMap.path)/settings.json")]
        )
        let settings = SettingsSuite.withStandard(suite) { ServerSettings() }

        var limits = settings.$limit.values.makeAsyncIterator()
        var tokens = settings.$apiToken.values.makeAsyncIterator()
        show("the ConfigMap of the Pod", await limits.next())

        try configMap.update(["settings.json": #"{ "limit": 30 }"#])
        show("a new version of the ConfigMap", await limits.next())

        try await settings.$limit.set(500)
        show("a value that is set at run time", await limits.next())

        try configMap.update(["settings.json": #"{ "limit": 40 }"#])
        try await settings.$limit.reset()
        // The ConfigMap's newest version is the value again, perhaps after the one before it.
        while let limit = await limits.next() {
            guard limit == 40 else { continue }
            show("the value is reset", limit)
            break
        }

        show("the Secret has a token of length", (await tokens.next() ?? nil)?.count)
        try secret.update(["apiToken": "a longer one\n"])
        show("a rotated Secret has a token of length", (await tokens.next() ?? nil)?.count)
        await suite.finish()
    }

    private static func show(_ event: String, _ value: Int?) {
        Console.show("\(event): \(value.map(String.init) ?? "none")")
    }
}
