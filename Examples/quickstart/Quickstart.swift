// SPDX-License-Identifier: Apache-2.0

import StoredSettings

@main
struct Quickstart {
    static func main() {}
}
