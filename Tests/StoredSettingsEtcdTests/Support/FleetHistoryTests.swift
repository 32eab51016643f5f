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

    private static func findings(
        _ outputs: [String],
        _ contents: [String: Int] = ["count": 4, "client/0": 2, "client/1": 2],
        last: String = "1:3"
    ) -> Set<String> {
        var history = FleetHistory(outputs)
        history.check(contents, last: last, times)
        return history.findings
    }

    private static func replacing(_ text: String, _ other: String) -> [String] {
        whole.map { $0.replacing(text, with: other) }
    }

    @Test("A history that fulfills every promise has no findings")
    func correct() {
        #expect(Self.findings(Self.whole) == [])
    }

    @Test("An acknowledged commit that is lost although it began after the restoration is found")
    func droppedCommit() {
        let outputs = Self.whole + ["try 2:1 1:3 5\nok 2:1 250 260\n"]
        #expect(Self.findings(outputs).contains("2:1 was lost after the restoration"))
    }

    @Test("A lost commit that is older than the backup is found")
    func lostBeforeBackup() {
        let outputs = Self.replacing("try 0:3 1:1 3", "try 0:3 0:1 2").map { $0.replacing("0:3 4", with: "0:3 3") }
        let findings = Self.findings(outputs, ["count": 3, "client/0": 2, "client/1": 1])
        #expect(findings.contains("1:1 was lost although it is older than the backup"))
    }

    @Test("A commit that is stored although it is newer than the backup is found")
    func storedAfterBackup() {
        let later = Self.replacing("ok 1:1 30 40", "ok 1:1 111 112")
        #expect(Self.findings(later).contains { $0.hasPrefix("1:1 was not lost") })
    }

    @Test("A commit that is based on a lost one is found")
    func lostBase() {
        let outputs = Self.replacing("try 0:3 1:1 3", "try 0:3 1:2 5").map { $0.replacing("0:3 4", with: "0:3 6") }
        // The values that the commit does not write are those of the backup.
        let findings = Self.findings(outputs, ["count": 6, "client/0": 3, "client/1": 2])
        #expect(findings.contains("client 1 has another number of commits"))
    }

    @Test("A lost state, a lost assignment and an older state that are seen after the restoration are found")
    func states() {
        let end = "see 1:3 3,1,0,0\n"
        let returned = Self.replacing(end, "see 1:2 2,1,0,0\n\(end)")
        #expect(Self.findings(returned).contains("the lost state 1:2 has returned"))
        #expect(
            Self.findings(Self.replacing("stream 1:3", "stream 1:3\nstream 0:3"))
                .contains("the state 0:3 is older than the one before")
        )
        let more = Self.whole + ["try 0:9 1:2 5\nok 0:9 160 170\n"]
        #expect(
            Self.findings(more.map { $0.replacing(end, with: "see 1:3 2,1,0,0\n") })
                .contains("a lost assignment of client 0 has returned")
        )
    }

    @Test("A count that differs, a state that is not whole, and a process with another last state are found")
    func contents() {
        #expect(Self.findings(Self.whole, ["count": 5, "client/0": 2, "client/1": 2]) != [])
        #expect(Self.findings(Self.whole + ["torn\n"]).contains("torn"))
        #expect(Self.findings(Self.replacing("end 1:3 4", "end 0:3 3")).contains("a process has another last state"))
    }
}
