// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The machine and the time of a run.
struct Machine: Encodable {
    var date: String
    var cores: Int
    var system: String
    var swift: String
    var fileSystem: String
    /// The load averages over one minute, at the start and at the end.
    var load: [Double]

    init(_ workspace: Workspace) {
        date = Date().ISO8601Format()
        cores = ProcessInfo.processInfo.activeProcessorCount
        system = ProcessInfo.processInfo.operatingSystemVersionString
        swift = Self.compiler
        fileSystem = workspace.fileSystem
        load = [Self.currentLoad]
    }

    mutating func recordEnd() {
        load.append(Self.currentLoad)
    }

    var description: String {
        let load = load.map(Format.number).joined(separator: " to ")
        return "\(date); \(cores) cores, load \(load); \(system); Swift \(swift); files on \(fileSystem)"
    }

    private static var currentLoad: Double {
        var loads = [0.0]
        // One number is requested, and there is space for one.
        return getloadavg(&loads, 1) == 1 ? loads[0] : .nan
    }

    /// The exact version is not available at compile time.
    private static var compiler: String {
        #if compiler(>=6.4)
        "6.4 or later"
        #elseif compiler(>=6.3)
        "6.3"
        #elseif compiler(>=6.2)
        "6.2"
        #else
        "6.0 or 6.1"
        #endif
    }
}
