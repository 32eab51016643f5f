// SPDX-License-Identifier: Apache-2.0

// A program whose settings people change with its own command:
//
//     swift run tool                          shows what the program uses
//     swift run tool config list              shows all settings
//     swift run tool config set retries 5     changes one
//     swift run tool config help              shows all commands

import StoredSettings
import StoredSettingsCommand

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

struct ToolSettings: Sendable {
    @DefaultStorage(key: "endpoint", suite: .tool, help: "Address of the service.")
    var endpoint = "https://api.example.com"
    @DefaultStorage(key: "retries", suite: .tool, in: 0...10, help: "Attempts after a failure.")
    var retries = 3
    @DefaultStorage(key: "timeout", suite: .tool, help: SettingHelp("Time for one request.", unit: "seconds"))
    var timeout = 2.5
    @DefaultStorage(key: "verbose", suite: .tool, help: "Whether each request is printed.")
    var isVerbose = false
    @DefaultStorage(key: "format", suite: .tool, help: "Form of the output.")
    var format = Format.table
    @DefaultStorage(key: "tags", suite: .tool, help: "Tags of new items.", traits: .requiresRestart)
    var tags: [String] = []
    @DefaultStorageOptional(key: "token", suite: .tool, help: "Token for the service.", traits: .secret)
    var token: String?
}

enum Format: String, CaseIterable, StoredValueConvertible {
    case table, json, csv
}

extension SettingsSuite {
    static let tool: SettingsSuite = "com.example.tool"
}

@main
struct Tool {
    static func main() async {
        if let code = await SettingsCommand(SettingsCatalog(ToolSettings())).runIfNamed() {
            exit(code)
        }
        let settings = ToolSettings()
        print("\(settings.endpoint), \(settings.retries) retries, \(settings.format.rawValue)")
    }
}
