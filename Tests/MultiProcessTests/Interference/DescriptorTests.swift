// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("A program that closes descriptors")
struct DescriptorTests {
    @Test("what a program without standard streams prints is not written into its settings")
    func noStreams() async throws {
        try await withPlace { place in
            for number in [2, 4] {
                try await withProbe(at: place) { probe in
                    try probe.send("closeStreams n \(number)")
                    await eventually("it is killed") { !probe.isRunning }
                }
                try await withProbe(at: place) { probe in
                    try await probe.expect("get n", prints: "\(number + 1)")
                    try await probe.expect("checkpoint")
                    #expect(probe.errors == "")
                }
            }
            #expect(try document(at: place.path) as? [String: Int] == ["n": 5])
        }
    }

    @Test("sets go on, are seen and are watched after a program has closed all descriptors, and no other file changes")
    func closedDescriptors() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            let other = "\(directory)/other"
            let contents = Data("the program's own contents\n".utf8)
            try contents.write(to: URL(fileURLWithPath: other))
            try await withProbes(2, at: place) { probes in
                try await probes[0].watch("seen", from: 0)
                try await probes[0].expect("fill key 1000")
                for round in 1...3 {
                    try await probes[0].expect("closeAll \(other)")
                    try await probes[0].expect("fill round\(round) 3000")
                    try await probes[1].expect("get round\(round)-2999", prints: "2999")
                    try await probes[0].expect("increment total 100")
                    try await probes[1].expect("increment total 100")
                    try await probes[1].expect("set seen \(round)")
                    try await probes[0].expect(prints: "seen is \(round)")
                    try await probes[0].expect("get total", prints: "\(200 * round)")
                    try await probes[0].expect("checkpoint")
                    try await probes[0].expect("synchronize")
                    #expect(try Data(contentsOf: URL(fileURLWithPath: other)) == contents)
                }
                #expect(probes[0].errors == "")
                // It closes no descriptor of the program, either.
                try await probes[0].finish()
            }
            #expect(try document(at: place.path).count == 10_002)
            #expect(try Data(contentsOf: URL(fileURLWithPath: other)) == contents)
        }
    }

    @Test("sets go on after a program has closed all descriptors, whose numbers the library receives again")
    func sameNumbers() async throws {
        try await withProbes(2) { probes, _ in
            for round in 1...3 {
                try await probes[0].expect("increment total 10")
                try await probes[0].expect("closeAll -")
                try await probes[0].expect("increment total 10")
                try await probes[0].expect("closeAll -")
                try await probes[0].expect("fill round\(round) 1000")
                try await probes[1].expect("get total", prints: "\(20 * round)")
                try await probes[0].expect("checkpoint")
            }
            #expect(probes[0].errors == "")
        }
    }

    @Test("sets go on after a program has closed all descriptors and its directory was replaced")
    func replacedDirectory() async throws {
        try await withTemporaryDirectory { directory in
            let suite = "\(directory)/suite"
            try FileManager.default.createDirectory(atPath: suite, withIntermediateDirectories: false)
            let place = Probe.Place.file("\(suite)/settings.json")
            try await withProbe(at: place) { probe in
                try await probe.expect("set n 1")
                try await probe.expect("closeAll -")
                try FileManager.default.moveItem(atPath: suite, toPath: "\(directory)/old")
                try FileManager.default.createDirectory(atPath: suite, withIntermediateDirectories: false)
                try await probe.expect("set other 2")
                try await probe.expect("checkpoint")
                try await probe.expect("synchronize")
            }
            #expect(try document(at: place.path) as? [String: Int] == ["n": 1, "other": 2])
        }
    }

    @Test("a program that only reads sees later changes after it has closed all descriptors")
    func reader() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            let other = "\(directory)/other"
            try Data("{}".utf8).write(to: URL(fileURLWithPath: other))
            try await withProbes(2, at: place) { probes in
                try await probes[1].expect("set n 1")
                try await probes[0].expect("get n", prints: "1")
                try await probes[0].expect("closeAll \(other)")
                try await probes[1].expect("set n 2")
                try await probes[0].expect("get n", prints: "2")
                try await probes[1].expect("checkpoint")
                try await probes[1].expect("set n 3")
                try await probes[0].expect("get n", prints: "3")
                try await probes[0].expect("synchronize")
                #expect(probes[0].errors == "")
            }
        }
    }
}
