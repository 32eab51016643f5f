// SPDX-License-Identifier: Apache-2.0

// Settings that outlive the program:
//
//     swift run quickstart                    shows all settings, and counts the runs
//     swift run quickstart get port           shows one
//     swift run quickstart set port 9090      changes one
//     swift run quickstart reset port         restores the default
//
// The settings are declared in Examples/settings/ServerSettings.swift.

import ExampleSettings
import StoredSettings

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@main
struct Quickstart {
    private let settings = ServerSettings()

    static func main() {
        do {
            try Quickstart().run(CommandLine.arguments.dropFirst())
        } catch {
            Console.fail("quickstart: \(error)")
        }
    }

    private func run(_ arguments: ArraySlice<String>) throws {
        var words = arguments.makeIterator()
        switch (words.next(), words.next(), words.next(), words.next()) {
        case (nil, nil, nil, nil):
            try showAllAndCount()
        case ("get", let key?, nil, nil):
            print(try setting(named: key).text)
        case ("set", let key?, let text?, nil):
            let setting = try setting(named: key)
            try setting.set(text: text)
            show(setting)
        case ("reset", let key?, nil, nil):
            let setting = try setting(named: key)
            try setting.suite.setStoredValue(nil, forKey: key)
            show(setting)
        default:
            throw UsageError(description: "usage: quickstart [get KEY | set KEY VALUE | reset KEY]")
        }
    }

    private func showAllAndCount() throws {
        print("Settings of \(SettingsSuite.quickstart.name), \(SettingsSuite.quickstart.persistence):")
        settings.all.forEach(show)

        // An assignment is stored when it returns. An update is also atomic: of two concurrent updates, neither is
        // lost.
        settings.lastRun = .now
        let run = try settings.$runs.update { $0 += 1 }
        print("run \(run)")
    }

    private func show(_ setting: any TextualSetting) {
        print("  \(setting.key) = \(setting.text)\(setting.isSet ? "" : " (default)")")
    }

    private func setting(named key: String) throws -> any TextualSetting {
        guard let setting = settings.all.first(where: { $0.key == key }) else {
            let known = settings.all.map(\.key).joined(separator: ", ")
            throw UsageError(description: "there is no setting '\(key)'; the settings are \(known)")
        }
        return setting
    }
}

struct UsageError: Error, CustomStringConvertible {
    let description: String
}
