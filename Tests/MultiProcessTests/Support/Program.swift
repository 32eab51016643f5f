// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The URL of a program of the package, in the directory of the test program.
func program(_ name: String) throws -> URL {
    let arguments = CommandLine.arguments
    let bundles = arguments.firstIndex(of: "--test-bundle-path").map { arguments[($0 + 1)...].prefix(1) } ?? []
    let places = [Bundle.main.bundlePath, Bundle.main.executablePath ?? ""] + bundles + arguments.prefix(1)
    let candidates = places.flatMap { place in
        let url = URL(fileURLWithPath: place).standardizedFileURL
        return [url, url.deletingLastPathComponent()].map { $0.appendingPathComponent(name) }
    }
    return try #require(
        candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) },
        "\(name) is not beside the tests"
    )
}
