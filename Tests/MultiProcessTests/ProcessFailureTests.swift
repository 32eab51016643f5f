// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import TestSupport
import Testing

@Suite("The failure of a test whose process is stuck")
struct ProcessFailureTests {
    #if os(Linux)
    @Test("a stopped process is named, with its state, its last request and its output, and is killed")
    func stopped() async throws {
        let script = "echo ready; echo trouble >&2; read line; kill -STOP $$"
        let process = try ChildProcess(["/bin/sh", "-c", script], input: .pipe)
        defer { process.end() }
        await eventually("it is ready", of: process) { process.output.text == "ready\n" }
        try process.write("work\n")
        await eventually("it is stopped", of: process) { process.description.contains("(T in ") }
        let description = process.description
        for part in ["process \(process.identifier) runs (T in ", "request: work", "output: ready", "errors: trouble"] {
            #expect(description.contains(part))
        }
        let failure = #expect(throws: ChildProcess.Failure.self) { try process.waitUntilEnd(within: .milliseconds(20)) }
        #expect(failure?.description.contains("was killed") == true)
        #expect(process.ending == .signal(SIGKILL))
    }
    #endif

    @Test("a process begins with the signals and descriptors of a login, whatever is ignored here")
    func surroundings() throws {
        let inheritable = dup(1)
        defer { close(inheritable) }
        let list = "for number in 0 1 2 \(inheritable); do [ ! -e /dev/fd/$number ] || echo $number; done"
        let script = "trap 'echo signal' USR1; kill -USR1 $$; \(list)"
        _ = signal(SIGUSR1, SIG_IGN)
        defer { _ = signal(SIGUSR1, SIG_DFL) }
        let process = try ChildProcess(["/bin/sh", "-c", script])
        #expect(try process.waitUntilEnd() == .exit(0))
        #expect(process.output.text == "signal\n0\n1\n2\n")
    }
}
