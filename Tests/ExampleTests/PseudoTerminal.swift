// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// A terminal for a program, whose screen the test reads.
final class PseudoTerminal {
    private let screen: FileHandle
    private var shown: [UInt8] = []
    /// The side of the program.
    let device: FileHandle

    init(columns: UInt16) throws {
        var (controller, terminal): (CInt, CInt) = (-1, -1)
        var size = winsize()
        size.ws_col = columns
        size.ws_row = 24
        // The call fills the two numbers and copies the structure.
        try #require(openpty(&controller, &terminal, nil, nil, &size) == 0)
        screen = FileHandle(fileDescriptor: controller, closeOnDealloc: true)
        device = FileHandle(fileDescriptor: terminal, closeOnDealloc: true)
        // A program that another test starts meanwhile must not hold the device open.
        for descriptor in [controller, terminal] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    }

    /// Types a text.
    func type(_ text: String) throws {
        try screen.write(contentsOf: Data(text.utf8))
    }

    /// Whether the terminal shows what is typed.
    var isEchoing: Bool {
        var mode = termios()
        // The call fills the structure.
        return tcgetattr(device.fileDescriptor, &mode) == 0 && mode.c_lflag & tcflag_t(ECHO) != 0
    }

    /// What was written on the screen so far, with what was read before.
    func text() -> String {
        var request = pollfd(fd: screen.fileDescriptor, events: Int16(POLLIN), revents: 0)
        var bytes = [UInt8](repeating: 0, count: 65_536)
        // The calls use the structure and the array, and do not retain them.
        while poll(&request, 1, 0) == 1, request.revents & Int16(POLLIN) != 0 {
            let count = read(screen.fileDescriptor, &bytes, bytes.count)
            guard count > 0 else { break }
            shown += bytes.prefix(count)
        }
        return String(decoding: shown, as: UTF8.self)
    }

    /// The lines on the screen, after the program has ended and the test has closed the device.
    func lines() throws -> [String] {
        try device.close()
        var bytes = [UInt8](repeating: 0, count: 65_536)
        var all: [UInt8] = []
        while true {
            // The call writes into the array. It fails when everything has been read.
            let count = read(screen.fileDescriptor, &bytes, bytes.count)
            guard count > 0 else { break }
            all += bytes.prefix(count)
        }
        return String(decoding: all, as: UTF8.self).split(separator: "\r\n").map(String.init)
    }
}
