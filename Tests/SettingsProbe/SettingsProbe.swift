// SPDX-License-Identifier: Apache-2.0

import StoredSettings

@main
struct SettingsProbe {
    static func main() {}
}
