// SPDX-License-Identifier: Apache-2.0

package import StoredSettings

/// The streams, the terminal and the environment of a command, which a test can replace.
package struct CommandConsole: Sendable {
    /// The name of the executable, as people type it.
    package var program = "tool"
    /// Writes to standard output.
    package var write: @Sendable (String) throws -> Void
    /// Writes to standard error.
    package var writeError: @Sendable (String) -> Void
    /// Reads standard input to its end.
    package var read: @Sendable () throws -> [UInt8] = { [] }
    /// Prints a prompt on standard error, and reads a line from the terminal, which does not show it on request; `nil` at its
    /// end.
    package var readLine: @Sendable (_ prompt: String, _ isHidden: Bool) throws -> String? = { _, _ in nil }
    /// Reads a line of standard input; `nil` at its end.
    package var readAnswer: @Sendable () -> String? = { nil }
    /// Returns a variable of the environment.
    package var variable: @Sendable (String) -> String? = { _ in nil }
    package var isOutputTerminal = false
    package var isErrorTerminal = false
    package var isInputTerminal = false
    /// The number of columns of the terminal; `nil` if it is unknown.
    package var terminalColumns: @Sendable () -> Int? = { nil }
    /// Returns a monotonic time in nanoseconds.
    package var time: @Sendable () -> UInt64 = { SystemCalls.coarseTime() }
    package var system = SystemCalls()

    package init(write: @escaping @Sendable (String) throws -> Void, writeError: @escaping @Sendable (String) -> Void) {
        self.write = write
        self.writeError = writeError
    }

    /// The streams of the process.
    package static var process: CommandConsole {
        var console = CommandConsole(
            write: { try SystemCalls().writeToStandardOutput(Array($0.utf8)) },
            writeError: { SystemCalls.writeToStandardError($0) }
        )
        console.program = CommandLine.arguments.first.map { FilePath($0).name.description } ?? "program"
        console.read = { try SystemCalls().readStandardInput() }
        console.readLine = { try SystemCalls().readLine(prompt: $0, isHidden: $1) }
        console.readAnswer = { SystemCalls.readAnswer() }
        console.variable = { SystemCalls.environmentVariable($0) }
        console.isOutputTerminal = SystemCalls.isTerminal(.output)
        console.isErrorTerminal = SystemCalls.isTerminal(.error)
        console.isInputTerminal = SystemCalls.isTerminal(.input)
        console.terminalColumns = { SystemCalls.terminalColumns() }
        return console
    }
}

extension CommandConsole {
    /// Whether standard output is colored: a terminal that supports it, and a user that does not object.
    var isColored: Bool {
        isOutputTerminal && (variable("NO_COLOR") ?? "").isEmpty && variable("TERM") != "dumb"
    }

    /// The number of columns that a line may have; `nil` for any number.
    var columns: Int? {
        guard isOutputTerminal else { return nil }
        if let columns = variable("COLUMNS").flatMap({ Int($0) }), columns > 0 { return columns }
        return terminalColumns() ?? 80
    }

    /// Writes lines to standard output; the characters that control a terminal are escaped on one, except in styled lines.
    ///
    /// Lines are one write, so that those of concurrent tasks are not mixed.
    package func show(lines: [String], areStyled: Bool = false) throws {
        guard !lines.isEmpty else { return }
        let shown = isOutputTerminal && !areStyled ? lines.map(TerminalText.escaped) : lines
        try write(shown.map { $0 + "\n" }.joined())
    }

    /// Writes JSON or another text to standard output; the characters that control a terminal are escaped on one.
    package func show(json: String) throws {
        try write((isOutputTerminal ? TerminalText.escapedJSON(json) : json) + (json.hasSuffix("\n") ? "" : "\n"))
    }

    /// Writes a message to standard error, on one line.
    package func show(message: String) {
        writeError(TerminalText.escaped(message) + "\n")
    }
}
