// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A block whose changes are told to nobody in this process.
///
/// The tasks that the block starts inherit it, and may run on after its end; from then on theirs are changes like others.
final class Quiet: Sendable {
    @TaskLocal private static var current: Quiet?

    private let engine: ObjectIdentifier
    /// The block around this one, perhaps of another suite.
    private let outer: Quiet?
    private let isOver = Atomic(false)

    private init(_ engine: SettingsEngine) {
        self.engine = ObjectIdentifier(engine)
        outer = Self.current
    }

    /// Whether the current task changes this engine's values inside of such a block.
    static func covers(_ engine: SettingsEngine) -> Bool {
        var quiet = current
        while let block = quiet {
            if block.engine == ObjectIdentifier(engine), !block.isOver.load(ordering: .relaxed) { return true }
            quiet = block.outer
        }
        return false
    }

    static func run<Result>(_ engine: SettingsEngine, _ body: () throws -> Result) rethrows -> Result {
        let block = Quiet(engine)
        defer { block.isOver.store(true, ordering: .relaxed) }
        return try $current.withValue(block, operation: body)
    }

    static func run<Result>(
        _ engine: SettingsEngine,
        isolation: isolated (any Actor)?,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        let block = Quiet(engine)
        defer { block.isOver.store(true, ordering: .relaxed) }
        return try await $current.withValue(block, operation: body, isolation: isolation)
    }
}
