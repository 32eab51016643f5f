// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc

/// Functions of the C library that Swift does not import.
enum SystemFunction {
    /// - Parameters:
    ///   - name: The function's name.
    ///   - type: The function's type, a C function pointer. The type is not checked.
    /// - Returns: The function; `nil` if there is none.
    static func named<Function>(_ name: String, as type: Function.Type) -> Function? {
        // A C function pointer is an address, and so is the symbol.
        dlsym(dlopen(nil, RTLD_NOW), name).map { unsafeBitCast($0, to: type) }
    }
}
#endif
