// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "The doctor changes nothing".

import StoredSettings
import StoredSettingsCommand

/// The command `doctor`: prints what was found, and repairs some of it on request.
struct DoctorCommand {
    private let place: SuitePlace
    private let invocation: CommandInvocation
    private var console: CommandConsole { invocation.console }

    init(_ place: SuitePlace, _ invocation: CommandInvocation) {
        (self.place, self.invocation) = (place, invocation)
    }

    /// Examines the files, and throws ``CommandFailure`` if there is a finding that is not repaired.
    func run() throws {
        var examination = Examination(of: place)
        var repairs: [String] = []
        if invocation.has(.repair) || invocation.has(.restore) {
            repairs = try repair(examination)
            if !repairs.isEmpty { examination = Examination(of: place) }
        }
        if invocation.has(.json) {
            let object: StoredValue = [
                "file": .string(place.file.description),
                "facts": .dictionary(Dictionary(examination.facts.map { ($0, .string($1)) }) { first, _ in first }),
                "findings": .array(examination.findings.map(\.json)),
                "repairs": .array(repairs.map(StoredValue.string)),
            ]
            try console.show(json: object.prettyJSON)
        } else {
            try console.show(lines: lines(of: examination, repairs).map(TerminalText.escaped))
        }
        if !examination.findings.isEmpty { throw CommandFailure(CommandExit.configuration) }
    }

    private func lines(of examination: Examination, _ repairs: [String]) -> [String] {
        let width = examination.facts.map(\.name.count).max() ?? 0
        let facts = examination.facts.map { TerminalText.padded($0.name, to: width) + "  " + $0.text }
        let findings = examination.findings.map { "\($0.severity): \($0.error.message)" }
        let count = findings.count
        var summary =
            count == 0 ? "No problem was found." : count == 1 ? "1 problem was found." : "\(count) problems were found."
        let repairable = Set(
            examination.findings.compactMap(\.repair).map { $0 == .restore ? "--restore" : "--repair" }
        )
        if !repairable.isEmpty { summary += " Repair with \(repairable.sorted().joined(separator: " ")), or by hand." }
        return repairs.map { "repaired: \($0)" } + facts + findings + [summary]
    }

    /// Repairs what can be repaired, and returns what was done.
    private func repair(_ examination: Examination) throws -> [String] {
        var done: [String] = []
        let repair = Repair(place)
        var wanted = examination.findings.compactMap(\.repair)
        if !invocation.has(.restore) { wanted.removeAll { $0 == .restore } }
        let kinds: [Finding.Repair] = [.removeDrafts, .setJournalAside, .restore, .checkpoint]
        for kind in kinds where wanted.contains(kind) {
            do {
                switch kind {
                case .removeDrafts: done += try repair.removeDrafts()
                case .setJournalAside: done.append(try repair.setJournalAside())
                case .restore: done += try repair.restore()
                case .checkpoint: done.append(try repair.checkpoint())
                }
            } catch {
                for message in CommandFailure(error).messages {
                    console.show(message: "\(invocation.program): not repaired: \(message)")
                }
            }
        }
        if invocation.has(.restore), !wanted.contains(.restore) {
            let reason =
                examination.isFileReplaced
                ? "what is in the place of the settings file is left as it is. Move it away first."
                : examination.isFileReadable
                    ? "the settings file can be read, and is left as it is. Use --restore only for a file that cannot be read."
                    : examination.hasCopy
                        ? "the settings file is not replaced, because its contents are not the reason that it cannot be read."
                        : "there is no usable last good copy. The files are left as they are. Correct the settings file by hand."
            console.show(message: "\(invocation.program): nothing is restored: \(reason)")
        }
        return done
    }
}
