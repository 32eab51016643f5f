// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// The memory that this process has allocated.
enum Heap {
    /// Whether the allocator reports the allocated memory, as that of Glibc does.
    static var isKnown: Bool {
        #if canImport(Glibc)
        describe != nil
        #else
        false
        #endif
    }

    /// The number of bytes allocated by all threads, including the allocator's overhead per block.
    ///
    /// Mapped files do not count.
    ///
    /// - Throws: `Failure` if the allocator does not report it.
    static func used() throws -> Int {
        #if canImport(Glibc)
        let sums = try report().suffix(from: "</heap>")
        return try sums.size(of: "system", "current") - sums.size(of: "total", "fast") - sums.size(of: "total", "rest")
            + sums.size(of: "total", "mmap")
        #else
        throw Failure("only Glibc's allocator reports the allocated memory")
        #endif
    }

    #if canImport(Glibc)
    private typealias Describe = @convention(c) (CInt, UnsafeMutablePointer<FILE>) -> CInt

    /// `malloc_info` is declared in a header that Swift does not import.
    ///
    /// So its type is declared here.
    private static let describe = SystemFunction.named("malloc_info", as: Describe.self)

    /// The allocator's report, in XML.
    private static func report() throws -> Substring {
        guard let describe else { throw Failure("there is no malloc_info") }
        var text: UnsafeMutablePointer<CChar>?
        var size = 0
        guard let stream = open_memstream(&text, &size) else { throw Failure("no memory is available") }
        let result = describe(0, stream)
        fclose(stream)
        // Closing the stream has stored the report, which the caller has to free.
        defer { free(text) }
        guard result == 0, let text else { throw Failure("malloc_info failed") }
        return Substring(String(cString: text))
    }
    #endif
}

extension Substring {
    /// The part after the last occurrence of a mark.
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
