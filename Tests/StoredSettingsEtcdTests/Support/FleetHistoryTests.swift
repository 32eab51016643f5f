// SPDX-License-Identifier: Apache-2.0

import Testing

/// Histories that break a promise, so that the check of real ones is known to notice it.
@Suite("The check of a fleet's history")
struct FleetHistoryTests {
    private static let times = FleetHistory.Times(saveBegan: 100, saveEnded: 110, stopped: 200)

    /// Two commits before the backup, two that are lost, and two after the restoration.
    private static let whole = [
        """
        try 0:1 - 1
        ok 0:1 10 20
        try 0:2 1:1 3
        ok 0:2 120 130
        try 0:3 1:1 3
        ok 0:3 210 220
        see 0:1 0,0,0,0
        see 1:1 1,0,0,0
        see 1:2 2,1,0,0
        see 1:1 1,0,0,0
        see 1:3 3,1,0,0
        end 1:3 4

        """,
        """
        try 1:1 0:1 2
        ok 1:1 30 40
        try 1:2 0:2 4
        ok 1:2 140 150
        try 1:3 0:3 4
        ok 1:3 230 240
        stream 0:2
        stream 1:1
        stream 1:3
        end 1:3 4

        """,
    ]

    private static let end = "see 1:3 3,1,0,0\n"

    private static func replacing(_ texts: (String, String)...) -> [String] {
        whole.map { output in texts.reduce(output) { $0.replacing($1.0, with: $1.1) } }
    }

    /// A history, the contents of etcd if they are not the usual ones, and the beginning of what is found.
    private static let faults: [(outputs: [String], contents: [String: Int], finding: String)] = [
        // Acknowledged after the restoration, and lost.
        (whole + ["try 2:1 1:3 5\nok 2:1 250 260\n"], [:], "2:1 was lost after the restoration"),
        (
            replacing(("try 0:3 1:1 3", "try 0:3 0:1 2"), ("0:3 4", "0:3 3")),
            ["count": 3, "client/0": 2, "client/1": 1], "1:1 was lost although it is older than the backup"
        ),
        // Newer than the backup, and not lost.
        (replacing(("ok 1:1 30 40", "ok 1:1 111 112")), [:], "1:1 was not lost"),
        // Based on a lost commit. The values that the commit does not write are those of the backup.
        (
            replacing(("try 0:3 1:1 3", "try 0:3 1:2 5"), ("0:3 4", "0:3 6")),
            ["count": 6, "client/0": 3, "client/1": 2], "client 1 has another number of commits"
        ),
        // Lost, and seen after the restoration.
        (replacing((end, "see 1:2 2,1,0,0\n\(end)")), [:], "the lost state 1:2 has returned"),
        (replacing(("stream 1:3", "stream 1:3\nstream 0:3")), [:], "the state 0:3 is older than the one before"),
        (
            replacing((end, "see 1:3 2,1,0,0\n")) + ["try 0:9 1:2 5\nok 0:9 160 170\n"],
            [:], "a lost assignment of client 0 has returned"
        ),
        (whole, ["count": 5, "client/0": 2, "client/1": 2], "the count is not the number of commits"),
        (whole + ["torn\n"], [:], "torn"),
        (replacing(("end 1:3 4", "end 0:3 3")), [:], "a process has another last state"),
    ]

    private static func findings(_ outputs: [String], _ contents: [String: Int] = [:]) -> Set<String> {
        var history = FleetHistory(outputs)
        let usual = ["count": 4, "client/0": 2, "client/1": 2]
        history.check(contents.isEmpty ? usual : contents, last: "1:3", times)
        return history.findings
    }

    @Test("A history that fulfills every promise has no findings")
    func correct() {
        #expect(Self.findings(Self.whole) == [])
    }

    @Test("A history that breaks a promise has a finding", arguments: faults.indices)
    func fault(_ index: Int) {
        let (outputs, contents, finding) = Self.faults[index]
        let findings = Self.findings(outputs, contents)
        #expect(findings.contains { $0.hasPrefix(finding) }, "\(findings)")
    }

    @Test("A state that is older than the one before is found without a backup, too")
    func withoutBackup() {
        let outputs = ["try 0:1 - 1\nok 0:1 10 20\ntry 0:2 0:1 2\nok 0:2 30 40\nsee 0:2 0\nsee 0:1 0\nend 0:2 2\n"]
        var history = FleetHistory(outputs)
        history.check(["count": 2, "client/0": 2], last: "0:2", FleetHistory.Times())
        #expect(history.findings == ["the state 0:1 is older than the one before"])
    }
}
