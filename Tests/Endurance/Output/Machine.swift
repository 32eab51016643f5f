// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Where and when a run was made.
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
        // Arrays of characters with a zero at the end, which come as tuples.
        return [withUnsafeBytes(of: names.release, text), withUnsafeBytes(of: names.machine, text)]
            .joined(separator: " ")
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// Whether assertions are checked, as they are where nothing is optimised.
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
