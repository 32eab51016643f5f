// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("Promise 4: it never destroys what it cannot read")
struct BrokenFileTests {
    private static let broken = "{\n  \"a\": 1,\n  \"b\": oops\n}\n"

    @Test("sets that were journaled before the file was broken are kept like later ones")
    func brokenBeforeCheckpoint() async throws {
        try await withPlace { place in
            try place.path.overwriteFile(with: #"{"a": 1}"#)
            try await withoutCheckpoints(of: place.path) {
                try await withProbe(at: place) { probe in
                    try await probe.expect("set b 2")
                    try place.path.overwriteFile(with: Self.broken)
                    try await probe.expect("set c 3")
                    probe.kill()
                }
            }
            try await withProbe(at: place) { probe in
                // Nothing has been checkpointed, so there is no last good copy, and `a` cannot be read.
                for (key, value) in [("a", 0), ("b", 2), ("c", 3)] {
                    try await probe.expect("get \(key)", prints: "\(value)")
                }
                #expect(try place.path.fileContents == Self.broken)
                try place.path.replaceFile(with: #"{"a": 10, "b": 20}"#)
                try await eventually("all values are merged") {
                    try document(at: place.path) as? [String: Int] == ["a": 10, "b": 2, "c": 3]
                }
                try await probe.expect("get a", prints: "10")
            }
        }
    }

    @Test("a program whose standard error has no reader reads and sets beside a broken file")
    func brokenPipe() async throws {
        try await withPlace { place in
            try place.path.overwriteFile(with: Self.broken)
            let script = #"exec 2> >(exit 0); wait $!; exec "$@""#
            try await withProbe(at: place, .init(wrapper: ["/bin/bash", "-c", script, "bash"])) { probe in
                try await probe.expect("get n", prints: "0")
                try await probe.expect("set n 1")
                try await probe.finish()
            }
        }
    }

    @Test("unknown keys and values of another type are kept until they are assigned")
    func unknown() async throws {
        try await withPlace { place in
            let future = #"{"deep": [1, null, {"x": -0.5}], "version": 9}"#
            try place.path.overwriteFile(with: #"{"future": \#(future), "n": "text"}"#)
            try await withProbes(2, at: place) { probes in
                try await probes[0].expect("get n", prints: "0")
                try await probes[1].expect("set m 1")
                try await probes[0].expect("checkpoint")
                #expect(try document(at: place.path)["n"] as? String == "text")
                try await probes[1].expect("set n 5")
                try await probes[0].expect("get n", prints: "5")
                try await probes[1].expect("checkpoint")
                let stored = try document(at: place.path)
                #expect(stored["n"] as? Int == 5 && stored["m"] as? Int == 1)
                let expected = try JSONSerialization.jsonObject(with: Data(future.utf8)) as? NSDictionary
                #expect(stored["future"] as? NSDictionary == expected)
            }
        }
    }
}
