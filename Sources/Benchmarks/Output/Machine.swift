// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Where and when a run was made.
struct Machine: Encodable {
    var date: String
    var cores: Int
    var system: String
    var swift: String
    var fileSystem: String
    /// How many processes wanted to run, on average of a minute, at the start and at the end.
    var load: [Double]

    init(_ workspace: Workspace) {
        date = Date().ISO8601Format()
        cores = ProcessInfo.processInfo.activeProcessorCount
        system = ProcessInfo.processInfo.operatingSystemVersionString
        swift = Self.compiler
        fileSystem = workspace.fileSystem
        load = [Self.currentLoad]
    }

    mutating func noteEnd() {
        load.append(Self.currentLoad)
    }

    var description: String {
        let load = load.map(Format.number).joined(separator: " to ")
        return "\(date); \(cores) cores, load \(load); \(system); Swift \(swift); files on \(fileSystem)"
    }

    private static var currentLoad: Double {
        var loads = [0.0]
        // One number is asked for, and there is room for one.
        return getloadavg(&loads, 1) == 1 ? loads[0] : .nan
    }

    /// A program can tell its compiler no more closely.
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
