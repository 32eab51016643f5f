// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// The memory that this process has allocated.
enum Heap {
    /// Whether the system's allocator tells how much is allocated: it does where it is Glibc's.
    static var isKnown: Bool {
        #if canImport(Glibc)
        describe != nil
        #else
        false
        #endif
    }

    /// How many bytes are allocated now, by all threads, with what the allocator keeps beside each.
    ///
    /// Memory that is mapped from a file does not count.
    ///
    /// - Throws: `Failure` where the system's allocator does not tell.
    static func used() throws -> Int {
        #if canImport(Glibc)
        let sums = try report().suffix(from: "</heap>")
        return try sums.size(of: "system", "current") - sums.size(of: "total", "fast") - sums.size(of: "total", "rest")
            + sums.size(of: "total", "mmap")
        #else
        throw Failure("the allocator is not Glibc's, which tells how much is allocated")
        #endif
    }

    #if canImport(Glibc)
    private typealias Describe = @convention(c) (CInt, UnsafeMutablePointer<FILE>) -> CInt

    /// `malloc_info`, which stands in a header that Swift does not import: hence its type is told here.
    private static let describe = SystemFunction.named("malloc_info", as: Describe.self)

    /// What the allocator tells of itself, in XML.
    private static func report() throws -> Substring {
        guard let describe else { throw Failure("there is no malloc_info") }
        var text: UnsafeMutablePointer<CChar>?
        var size = 0
        guard let stream = open_memstream(&text, &size) else { throw Failure("there is no memory") }
        let result = describe(0, stream)
        fclose(stream)
        // Closing the stream has put a text there, which is the caller's to free.
        defer { free(text) }
        guard result == 0, let text else { throw Failure("malloc_info failed") }
        return Substring(String(cString: text))
    }
    #endif
}

extension Substring {
    /// What follows the last of a text's occurrences.
    fileprivate func suffix(from mark: String) throws -> Substring {
        guard let range = range(of: mark, options: .backwards) else { throw Failure("malloc_info has changed") }
        return self[range.upperBound...]
    }

    /// The size in an element such as `<total type="mmap" count="2" size="4096"/>`.
    fileprivate func size(of element: String, _ type: String) throws -> Int {
        let parts = split(separator: "\n").first { $0.hasPrefix("<\(element) type=\"\(type)\"") }?
            .split(separator: "\"")
        guard let size = parts?.dropLast().last.flatMap({ Int($0) }) else { throw Failure("malloc_info has changed") }
        return size
    }
}
