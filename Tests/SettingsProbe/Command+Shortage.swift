// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import StoredSettings
import Synchronization

/// What takes from the process what the library may need: descriptors and other threads' time.
extension Command {
    /// Opens files until only so many more can be opened.
    @MainActor
    func exhaust(leaving count: Int) throws {
        var limit = rlimit()
        guard getrlimit(CInt(RLIMIT_NOFILE.rawValue), &limit) == 0 else { throw Refused(description: "limit") }
        limit.rlim_cur = min(limit.rlim_cur, 256)
        guard setrlimit(CInt(RLIMIT_NOFILE.rawValue), &limit) == 0 else { throw Refused(description: "limit") }
        while true {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { break }
            Shortage.descriptors.append(descriptor)
        }
        for _ in 0..<count { close(Shortage.descriptors.removeLast()) }
    }

    @MainActor
    func recover() {
        for descriptor in Shortage.descriptors { close(descriptor) }
        Shortage.descriptors = []
    }

    /// Leaves less memory than the stack of a thread takes, and more than anything else that a test does.
    func starve() throws {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmSize:") }
        guard let size = line?.split(separator: " ").dropFirst().first.flatMap({ UInt($0) }) else {
            throw Refused(description: "size")
        }
        try limitMemory(to: size * 1_024 + 3_500_000)
    }

    func limitMemory(to size: UInt?) throws {
        var limit = rlimit()
        guard getrlimit(CInt(RLIMIT_AS.rawValue), &limit) == 0 else { throw Refused(description: "limit") }
        limit.rlim_cur = size ?? limit.rlim_max
        guard setrlimit(CInt(RLIMIT_AS.rawValue), &limit) == 0 else { throw Refused(description: "limit") }
    }

    @MainActor
    func observe(_ suite: SettingsSuite, _ arguments: Arguments) throws {
        let setting = try integer(suite, arguments)
        Shortage.observations.append(setting.observe { say("\(setting.key) is \($0.new)") })
    }

    /// Keeps all threads busy that Dispatch and Swift's tasks may have.
    @MainActor
    func occupy() {
        Shortage.isOccupied.store(true, ordering: .relaxed)
        let deadline = Date() + 120
        let keepBusy: @Sendable () -> Void = {
            while Shortage.isOccupied.load(ordering: .relaxed), Date() < deadline {}
        }
        for quality in [DispatchQoS.QoSClass.utility, .default] {
            for _ in 0..<4 { DispatchQueue.global(qos: quality).async(execute: keepBusy) }
        }
        for _ in 0..<ProcessInfo.processInfo.activeProcessorCount { Task.detached { keepBusy() } }
    }

    func vacate() {
        Shortage.isOccupied.store(false, ordering: .relaxed)
    }
}

private enum Shortage {
    @MainActor static var descriptors: [CInt] = []
    @MainActor static var observations: [SettingObservation] = []
    static let isOccupied = Atomic(false)
}
