// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The machine and the time of a run.
struct Machine: Encodable {
    var date = Date().ISO8601Format()
    var cores = ProcessInfo.processInfo.activeProcessorCount
    var system = ProcessInfo.processInfo.operatingSystemVersionString
    var kernel = Self.kernel
    var isDebugBuild = Self.isDebugBuild

    var description: String {
        "\(date); \(cores) cores; \(system); kernel \(kernel)\(isDebugBuild ? "; debug build" : "")"
    }

    private static var kernel: String {
        var names = utsname()
        guard uname(&names) == 0 else { return "unknown" }
        // Null-terminated character arrays, which are imported as tuples.
        return [withUnsafeBytes(of: names.release, text), withUnsafeBytes(of: names.machine, text)]
            .joined(separator: " ")
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// Whether assertions are checked, as in builds without optimization.
    private static var isDebugBuild: Bool {
        var isDebugBuild = false
        assert(
            {
                isDebugBuild = true
                return true
            }()
        )
        return isDebugBuild
    }
}
