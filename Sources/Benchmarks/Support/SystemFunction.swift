// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc

/// Functions of the system's library that Swift's picture of its headers leaves out.
enum SystemFunction {
    /// - Parameters:
    ///   - name: The function's name.
    ///   - type: Its type, a pointer to a function of C. Nothing checks that it is the right one.
    /// - Returns: The function; `nil` where there is none.
    static func named<Function>(_ name: String, as type: Function.Type) -> Function? {
        // A pointer to a function of C is an address and nothing else, as what is found is.
        dlsym(dlopen(nil, RTLD_NOW), name).map { unsafeBitCast($0, to: type) }
    }
}
#endif
