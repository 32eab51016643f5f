// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Launches programs in their own mount namespace, where the user may mount.
enum Mounts {
    /// Whether this user may mount; outside of most containers, root may.
    static let areAllowed: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        process.arguments = ["-m", "/bin/sh", "-c", "mount -t tmpfs -o size=64k none /mnt"]
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        do {
            try process.run()
        } catch {
            return false
        }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// A launch that runs shell commands before the probe; only the probe sees their mounts.
    static func launch(after commands: String) -> Probe.Launch {
        Probe.Launch(wrapper: ["/usr/bin/unshare", "-m", "/bin/sh", "-c", commands + #" && exec "$0" "$@""#])
    }
}
