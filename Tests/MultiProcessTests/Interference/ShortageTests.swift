// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

// Only Linux reports the resources of a process.
#if os(Linux)
@Suite("A process without free descriptors or threads")
struct ShortageTests {
    @Test(
        "reads, sets and observes with few or no descriptors, and recovers when there are more",
        arguments: 0...3
    )
    func descriptors(count: Int) async throws {
        try await withPlace { place in
            try place.path.overwriteFile(with: #"{"n": 1}"#)
            try await withProbes(2, at: place) { probes in
                let (probe, other) = (probes[0], probes[1])
                try await probe.expect("exhaust \(count)")
                // The answers depend on the calls that still succeed. No answer may end the process.
                for command in [
                    "get n", "observe n", "set n 2", "get n", "assign n 3", "synchronize", "checkpoint", "get n",
                ] {
                    let answer = try await answer(of: probe, to: command)
                    #expect(answer == "done" || answer.hasPrefix("error ") || Int(answer) != nil, "\(command)")
                }
                if count == 0 { #expect(probe.errors.contains("raise the limit of open files")) }
                #expect(!probe.errors.contains("disk is in order"))
                for command in ["recover", "set n 4", "synchronize", "checkpoint"] {
                    #expect(try await answer(of: probe, to: command) == "done", "\(command)")
                }
                // By polling, until the system grants a watch again.
                try await other.expect("set n 7")
                try await eventually("the set is read") { try await answer(of: probe, to: "get n") == "7" }
                try await eventually("the file is watched") { try await answer(of: probe, to: "watches") != "0" }
                try await other.expect("set n 8")
                try await eventually("the callback is called") { try await probe.line() == "n is 8" }
                try await probe.finish()
            }
        }
    }

    /// The answer of the process, without the lines that its callback prints.
    private func answer(of probe: Probe, to command: String) async throws -> String {
        try probe.send(command)
        while true {
            let line = try await probe.line()
            if !line.contains(" is ") { return line }
        }
    }

    @Test(
        "without a background thread, reads check the file, sets are stored, and the failure is reported once",
        arguments: [.zero, Duration.seconds(1.5)]
    )
    func noThread(after pause: Duration) async throws {
        try await withPlace { place in
            try place.path.overwriteFile(with: #"{"n": 1}"#)
            try await withProbes(2, at: place) { probes in
                let (probe, other) = (probes[0], probes[1])
                try await probe.expect("starve")
                try await probe.expect("get n", prints: "1")
                try await other.expect("set n 2")
                try await probe.expectSoon("n", is: 2)
                try await other.expect("checkpoint")
                try place.path.replaceFile(with: #"{"n": 3}"#)
                try await probe.expectSoon("n", is: 3)
                try await probe.expect("set n 4")
                // After a second, the process tries to watch, and nothing but the observer adds work below.
                try await Task.sleep(for: pause)
                try await probe.expect("get n", prints: "4")
                #expect(probe.errors.split(separator: "\n").count { $0.contains("starts no thread") } == 1)
                try await probe.expect("feed")
                try await probe.expect("observe n")
                try await eventually("the process writes the file") {
                    try document(at: place.path)["n"] as? Int == 4
                }
                try await other.expect("set n 5")
                try await probe.expect(prints: "n is 5")
                try await probe.finish()
            }
        }
    }

    @Test("a process that cannot start a thread writes the file when it exits")
    func exit() async throws {
        try await withProbe { probe, place in
            try await probe.expect("starve")
            try await probe.expect("set n 1")
            try probe.send("exit")
            try await probe.finish()
            #expect(try document(at: place.path)["n"] as? Int == 1)
        }
    }

    @Test("checkpoints go on while observers and reporters block")
    func blockedObservers() async throws {
        try await withProbes(2) { probes, place in
            let (observer, writer) = (probes[0], probes[1])
            try await writer.expect("set n 1")
            try await observer.expect("set other 1")
            try await observer.expect("block n 40")
            try await writer.expect("set n 2")
            try await writer.expect("finish")
            try await observer.expect("set other 2")
            try await eventually("the process whose observers block writes the file") {
                try document(at: place.path) as? [String: Int] == ["n": 2, "other": 2]
            }
            observer.kill()
        }
    }

    @Test("a callback receives another process's set while all threads of Dispatch and Swift concurrency are busy")
    func busyThreads() async throws {
        try await withProbes(2) { probes, _ in
            let (watcher, writer) = (probes[0], probes[1])
            try await writer.expect("set n 1")
            try await watcher.expect("observe n")
            try await watcher.expect("occupy")
            try await writer.expect("set n 2")
            try await watcher.expect(prints: "n is 2")
            try await watcher.expect("vacate")
        }
    }
}
#endif
