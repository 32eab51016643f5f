// SPDX-License-Identifier: Apache-2.0

// Settings that processes on several machines share in etcd:
//
//     swift run fleet http://127.0.0.1:2379                    shows the settings, and each change
//     swift run fleet http://127.0.0.1:2379 fleet limit 50     sets one for the whole fleet
//     swift run fleet http://127.0.0.1:2379 here limit 5       sets one for this machine, which wins here
//     swift run fleet http://127.0.0.1:2379 deploy 10          counts deployments, exactly, however many processes do so

import ExampleSettings
import StoredSettings
import StoredSettingsEtcd

struct ServiceSettings: Sendable {
    @DefaultStorage(key: "limit", in: 1...1_000, help: "Requests per second.") var limit = 100
    @DefaultStorage(key: "maintenance", help: "Whether to refuse requests.") var maintenance = false
    @DefaultStorage(key: "deployments", help: "The number of deployments.") var deployments = 0
}

@main
struct Fleet {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard let address = arguments.first else {
            Console.fail("usage: fleet ADDRESS [fleet KEY VALUE | here KEY VALUE | deploy COUNT]")
        }
        do {
            let (fleet, isCurrent) = try await SettingsSuite.etcd(
                "com.example.fleet",
                endpoints: [address],
                within: .seconds(3)
            )
            if !isCurrent { Console.show("no server has answered: the values are those of the last run") }
            // A value of this machine wins over that of the fleet, and that over the default.
            let here = SettingsSuite("com.example.fleet", sources: [.stored, .suite(fleet)])
            try await run(Array(arguments.dropFirst()), fleet, here)
        } catch {
            Console.fail("fleet: \(error)")
        }
    }

    private static func run(_ arguments: [String], _ fleet: SettingsSuite, _ here: SettingsSuite) async throws {
        let shared = SettingsSuite.withStandard(fleet) { ServiceSettings() }
        let own = SettingsSuite.withStandard(here) { ServiceSettings() }
        switch (arguments.first, arguments.count) {
        case (nil, 0):
            await watch(own)
        case ("fleet", 3), ("here", 3):
            let settings = SettingsCatalog(arguments[0] == "fleet" ? shared : own)
            guard let setting = settings[arguments[1]] else {
                Console.fail("fleet: there is no setting '\(arguments[1])'")
            }
            try await setting.set(text: arguments[2])
        case ("deploy", 2):
            for _ in 0..<(Int(arguments[1]) ?? 0) {
                // The closure runs again if another machine has changed the suite meanwhile.
                let number = try await shared.$deployments.update { $0 += 1 }
                Console.show("deployment \(number)")
            }
        default:
            Console.fail("fleet: unknown arguments")
        }
    }

    private static func watch(_ settings: ServiceSettings) async {
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await follow(settings.$limit) }
            tasks.addTask { await follow(settings.$maintenance) }
            tasks.addTask { await follow(settings.$deployments) }
        }
    }

    private static func follow<Value>(_ setting: Setting<Value>) async {
        for await value in setting.values { Console.show("\(setting.key) = \(value)") }
    }
}
