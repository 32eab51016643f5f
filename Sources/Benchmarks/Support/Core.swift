// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#endif

/// One of the machine's cores.
struct Core {
    /// `nil` where a thread cannot be tied to a core: then it is any.
    private let number: Int?

    /// Two cores that this process may use; fewer where it may not use two.
    static let pair: [Core] = {
        guard let numbers = allowed else { return [Core(number: nil), Core(number: nil)] }
        return numbers.prefix(2).map { Core(number: $0) }
    }()

    /// Keeps this thread on the core, for good.
    func stay() {
        #if canImport(Glibc)
        guard let number else { return }
        var words = Self.noCore
        words[number / UInt.bitWidth] |= 1 << UInt(number % UInt.bitWidth)
        // Where it is refused, the thread runs on any core, and the figures are only noisier.
        _ = Self.change?(0, words.count * MemoryLayout<UInt>.size, &words)
        #endif
    }
}

#if canImport(Glibc)
extension Core {
    private typealias Call = @convention(c) (CInt, Int, UnsafeMutablePointer<UInt>) -> CInt

    // Both stand behind a macro in a header, where Swift does not see them: hence their type is told here.
    private static let ask = SystemFunction.named("sched_getaffinity", as: Call.self)
    private static let change = SystemFunction.named("sched_setaffinity", as: Call.self)

    /// A bit for each of 1,024 cores.
    private static let noCore = [UInt](repeating: 0, count: 1_024 / UInt.bitWidth)

    private static var allowed: [Int]? {
        var words = noCore
        guard let ask, ask(0, words.count * MemoryLayout<UInt>.size, &words) >= 0 else { return nil }
        return (0..<1_024).filter { words[$0 / UInt.bitWidth] & 1 << UInt($0 % UInt.bitWidth) != 0 }
    }
}
#else
extension Core {
    private static var allowed: [Int]? { nil }
}
#endif
