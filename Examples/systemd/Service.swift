// SPDX-License-Identifier: Apache-2.0

// A service with a state directory and a credential, and its administrator's command:
//
//     STATE_DIRECTORY=/tmp/acme swift run systemd                  what the service uses
//     STATE_DIRECTORY=/tmp/acme swift run systemd config set port 9090
//
// units/acme.service is the unit that runs it.

import ExampleSettings
import Foundation
import StoredSettings
import StoredSettingsCommand

struct ServiceSettings: Sendable {
    @DefaultStorage(key: "port", in: 1...65_535, help: "Port to listen on.") var port = 8080
    @DefaultStorageOptional(key: "apiToken", help: "Token for the upstream API.", traits: .secret)
    var apiToken: String?
}

@main
struct Service {
    static func main() async {
        do {
            try await run()
        } catch {
            Console.fail("systemd: \(error)")
        }
    }

    private static func run() async throws {
        // systemd sets STATE_DIRECTORY for StateDirectory=, and CREDENTIALS_DIRECTORY for LoadCredential=.
        let suite = SettingsSuite(
            "com.example.service",
            sources: [.managed("/etc/acme/managed.json"), .environment(prefix: "ACME_"), .secrets()]
        )
        try SettingsSuite.bootstrapStandard(suite)
        let settings = ServiceSettings()
        let catalog = SettingsCatalog(settings)
        if let code = await SettingsCommand(catalog).runIfNamed() { exit(code) }

        guard case .durable = suite.persistence else {
            Console.fail("systemd: settings are \(suite.persistence). Add StateDirectory= to the unit.")
        }
        try catalog.validate()
        Console.show("\(suite.persistence)")
        Console.show("\(settings.$port.explain())")
        Console.show("\(settings.$apiToken.explain())")
    }
}
