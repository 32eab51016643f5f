// SPDX-License-Identifier: Apache-2.0

import Foundation

#if compiler(>=6.3) && objectFormat(ELF)
/// Opens standard streams that are closed, before anything else in the process opens a file, which would take their place.
@section(".init_array") @used
private let openStandardStreams: @convention(c) () -> Void = {
    while true {
        let descriptor = open("/dev/null", O_RDWR)
        guard (0...2).contains(descriptor) else {
            close(descriptor)
            break
        }
    }
}
#endif

/// What tests need from the process that they run in, whatever has started it.
package enum Surroundings {
    /// More descriptors than the tests of one process have.
    static let mostDescriptors: CInt = 4_096

    /// Makes the process fit for tests; only the first call does anything.
    package static func prepare() { prepared }

    private static let prepared: Void = {
        // An ignored SIGCHLD would discard the exit codes of processes.
        _ = signal(SIGCHLD, SIG_DFL)
        // Writing to a process that has died fails; it must not end the tests.
        _ = signal(SIGPIPE, SIG_IGN)
    }()

    /// The path of a program of the package, which is beside the program that runs the tests.
    package static func program(_ name: String) throws -> String {
        let arguments = CommandLine.arguments
        let bundles = arguments.firstIndex(of: "--test-bundle-path").map { arguments[($0 + 1)...].prefix(1) } ?? []
        let places = [Bundle.main.bundlePath, Bundle.main.executablePath ?? ""] + bundles + arguments.prefix(1)
        for place in places {
            let url = URL(fileURLWithPath: place).standardizedFileURL
            for directory in [url, url.deletingLastPathComponent()] {
                let path = directory.appendingPathComponent(name).path
                if FileManager.default.isExecutableFile(atPath: path) { return path }
            }
        }
        throw ChildProcess.Failure("there is no program '\(name)' beside the tests")
    }
}
