// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import ProcessSupport
import StoredSettings
import Synchronization

/// Commands that use up resources the library may need: descriptors, memory and threads.
extension Command {
    /// Opens files until only `count` more can be opened.
    @MainActor
    func exhaust(leaving count: Int) throws {
        var limit = rlimit()
        guard getrlimit(CLibrary.openFiles, &limit) == 0 else {
            throw SystemFailure(description: "getrlimit failed")
        }
        limit.rlim_cur = min(limit.rlim_cur, 256)
        guard setrlimit(CLibrary.openFiles, &limit) == 0 else {
            throw SystemFailure(description: "setrlimit failed")
        }
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

    /// Limits memory so that a thread's stack does not fit, but everything else in the test does.
    func starve() throws {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmSize:") }
        guard let size = line?.split(separator: " ").dropFirst().first.flatMap({ UInt($0) }) else {
            throw SystemFailure(description: "cannot read the size of the process")
        }
        try limitMemory(to: size * 1_024 + 3_500_000)
    }

    func limitMemory(to size: UInt?) throws {
        var limit = rlimit()
        guard getrlimit(CLibrary.addressSpace, &limit) == 0 else {
            throw SystemFailure(description: "getrlimit failed")
        }
        limit.rlim_cur = size.map { rlim_t($0) } ?? limit.rlim_max
        guard setrlimit(CLibrary.addressSpace, &limit) == 0 else {
            throw SystemFailure(description: "setrlimit failed")
        }
    }

    @MainActor
    func observe(_ suite: SettingsSuite, _ arguments: Arguments) throws {
        let setting = try integer(suite, arguments)
        Shortage.observations.append(setting.observe { printLine("\(setting.key) is \($0.new)") })
    }

    @MainActor
    func block(_ setting: Setting<Int>, _ count: Int) throws {
        for _ in 0..<count {
            Shortage.observations.append(setting.observe { _ in while true { sleep(1_000) } })
        }
    }

    /// Blocks all threads that Dispatch and Swift concurrency can create.
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
