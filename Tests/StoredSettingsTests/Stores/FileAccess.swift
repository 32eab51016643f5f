// SPDX-License-Identifier: Apache-2.0

import Foundation

extension String {
    /// The owner, the group and the permissions of the file at this path, such as `0:0 600`; `nil` if there is none.
    var access: String? {
        var status = stat()
        guard lstat(self, &status) == 0 else { return nil }
        return "\(status.st_uid):\(status.st_gid) \(String(status.st_mode & 0o7777, radix: 8))"
    }
}
