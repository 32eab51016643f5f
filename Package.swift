// swift-tools-version: 6.0
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "StoredSettings",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "StoredSettings", targets: ["StoredSettings"]),
        .library(name: "StoredSettingsTesting", targets: ["StoredSettingsTesting"]),
    ],
    targets: [
        .target(name: "StoredSettings"),
        .target(name: "StoredSettingsTesting", dependencies: ["StoredSettings"]),
        .testTarget(name: "StoredSettingsTests", dependencies: ["StoredSettings", "StoredSettingsTesting"]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets {
    target.swiftSettings = (target.swiftSettings ?? []) + [
        // SE-0335: `any` is written out.
        .enableUpcomingFeature("ExistentialAny"),
        // SE-0444: a member is visible only where its module is imported.
        .enableUpcomingFeature("MemberImportVisibility"),
        // SE-0409: what a module imports is its own business unless it says otherwise.
        .enableUpcomingFeature("InternalImportsByDefault"),
    ]
}
