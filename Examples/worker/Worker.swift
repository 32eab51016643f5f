// SPDX-License-Identifier: Apache-2.0

// A daemon whose settings are changed while it runs:
//
//     swift run worker                            works until SIGTERM or Control-C
//     swift run worker config set interval 200    in another terminal: works faster from now on
//     swift run worker config set paused true     pauses it
//     kill -HUP PID                               shows the settings in use
//     kill PID                                    saves and ends

import ExampleSettings
import Foundation
import StoredSettings
import StoredSettingsCommand

struct WorkerSettings: Sendable {
    @DefaultStorage(
        key: "interval",
        suite: .worker,
        in: 1...60_000,
        help: SettingHelp("Time between two jobs.", unit: "ms")
    )
    var interval = 1000
    @DefaultStorage(key: "paused", suite: .worker, help: "Whether no job is started.")
    var isPaused = false
    @DefaultStorage(key: "jobs", suite: .worker, help: "The number of jobs that were ever done.")
    var jobs = 0
}

extension SettingsSuite {
    static let worker: SettingsSuite = "com.example.worker"
}

@main
struct Worker {
    private let settings = WorkerSettings()

    static func main() async {
        let worker = Worker()
        let catalog = SettingsCatalog(worker.settings)
        if let code = await SettingsCommand(catalog).runIfNamed() { exit(code) }
        if let code = catalog.exitCodeIfInvalid() { exit(code) }
        do {
            try await worker.run()
        } catch {
            Console.fail("worker: \(error)")
        }
    }

    private func run() async throws {
        // The handlers are installed before anything is shown.
        let signals = await Signals.received(SIGTERM, SIGINT, SIGHUP)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await follow() }
            tasks.addTask { try await work() }
            tasks.addTask { await handle(signals) }
            // A signal ends the worker, and so does a job that cannot be counted.
            _ = try await tasks.next()
            tasks.cancelAll()
            try await tasks.waitForAll()
        }
        // Every job that was counted survives the process. Now they survive power loss, too.
        await SettingsSuite.worker.finish()
        try await SettingsSuite.worker.synchronize()
        Console.show("saved after \(settings.jobs) jobs")
    }

    /// Returns when a signal asks the process to end.
    private func handle(_ signals: AsyncStream<Int32>) async {
        for await signal in signals {
            guard signal == SIGHUP else { return }
            // Edits are noticed by themselves, so there is nothing to reload.
            Console.show("interval \(settings.interval) ms, \(settings.isPaused ? "paused" : "running")")
        }
    }

    /// Shows the interval, and each change of it by any process or editor.
    private func follow() async {
        for await interval in settings.$interval.values {
            Console.show("one job every \(interval) ms")
        }
    }

    /// Does a job in each interval.
    ///
    /// It reads the settings where it uses them.
    private func work() async throws {
        do {
            while true {
                try await Task.sleep(for: .milliseconds(settings.interval))
                guard !settings.isPaused else { continue }
                // The task is suspended while another process has the lock.
                try await settings.$jobs.update { $0 += 1 }
            }
        } catch is CancellationError {
            return
        }
    }
}
