// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#endif

/// One core of the machine.
struct Core {
    /// The number of the core; `nil` for any core where a thread cannot be bound to one.
    private let number: Int?

    /// Two cores that this process may use, or fewer if it may not use two.
    static let pair: [Core] = {
        guard let numbers = allowed else { return [Core(number: nil), Core(number: nil)] }
        return numbers.prefix(2).map { Core(number: $0) }
    }()

    /// Binds the current thread to the core permanently.
    func bindCurrentThread() {
        #if canImport(Glibc)
        guard let number else { return }
        var words = Self.noCore
        words[number / UInt.bitWidth] |= 1 << UInt(number % UInt.bitWidth)
        // If binding fails, the thread runs on any core, and the results are only noisier.
        _ = Self.change?(0, words.count * MemoryLayout<UInt>.size, &words)
        #endif
    }
}

#if canImport(Glibc)
extension Core {
    private typealias Call = @convention(c) (CInt, Int, UnsafeMutablePointer<UInt>) -> CInt

    // Swift does not import these functions, because a macro in the header hides them. So their type is declared here.
    private static let ask = SystemFunction.named("sched_getaffinity", as: Call.self)
    private static let change = SystemFunction.named("sched_setaffinity", as: Call.self)

    /// One bit for each of 1,024 cores.
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
