// swift-tools-version: 6.0
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "StoredSettings",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "StoredSettings", targets: ["StoredSettings"]),
        .library(name: "StoredSettingsFoundation", targets: ["StoredSettingsFoundation"]),
        .library(name: "StoredSettingsTesting", targets: ["StoredSettingsTesting"]),
    ],
    targets: [
        .target(name: "StoredSettings"),
        // What needs full Foundation, which the library itself never links on Linux.
        .target(name: "StoredSettingsFoundation", dependencies: ["StoredSettings"]),
        .target(name: "StoredSettingsTesting", dependencies: ["StoredSettings"]),

        // What a person runs first.
        .target(name: "ExampleSettings", dependencies: ["StoredSettings"], path: "Examples/settings"),
        .executableTarget(
            name: "quickstart",
            dependencies: ["StoredSettings", "ExampleSettings"],
            path: "Examples/quickstart"
        ),
        .executableTarget(name: "watch", dependencies: ["StoredSettings", "ExampleSettings"], path: "Examples/watch"),

        // Kills, races and load, for longer than a test may take: `swift run -c release endurance`.
        .executableTarget(name: "endurance", dependencies: ["StoredSettings"], path: "Tests/Endurance"),

        // Speed, each figure beside its floor: `swift run -c release Benchmarks`.
        .executableTarget(name: "Benchmarks", dependencies: ["StoredSettings"]),

        // Waiting with a deadline, and directories that are gone after the test.
        .target(name: "TestSupport", path: "Tests/TestSupport"),

        .testTarget(
            name: "StoredSettingsTests",
            dependencies: ["StoredSettings", "StoredSettingsTesting", "TestSupport"]
        ),
        .testTarget(
            name: "StoredSettingsFoundationTests",
            dependencies: ["StoredSettings", "StoredSettingsFoundation", "StoredSettingsTesting", "TestSupport"]
        ),
        // What Documentation/ComingFrom….md shows, compiled and run.
        .testTarget(
            name: "GuideTests",
            dependencies: ["StoredSettings", "StoredSettingsFoundation", "TestSupport"]
        ),
        .testTarget(name: "ExampleTests", dependencies: ["quickstart", "watch", "TestSupport"]),

        // Reads that have to be loads: what `.ci/check-hot-reads` disassembles.
        .target(name: "HotReads", dependencies: ["StoredSettings"], path: "Tests/HotReads"),

        // A client as others write it: it sees the public face alone, from a module of its own.
        .target(name: "ClientModule", dependencies: ["StoredSettings"], path: "Tests/ClientModule"),
        .testTarget(name: "ClientTests", dependencies: ["ClientModule", "StoredSettings", "StoredSettingsTesting"]),

        // Several processes on one file; the probe is what they run, and the table is what they pass on.
        .target(name: "LawTable", dependencies: ["StoredSettings"], path: "Tests/LawTable"),
        .executableTarget(
            name: "settings-probe",
            dependencies: ["StoredSettings", "LawTable"],
            path: "Tests/SettingsProbe"
        ),
        .testTarget(
            name: "MultiProcessTests",
            dependencies: [
                "StoredSettings", "StoredSettingsTesting", "LawTable", "TestSupport", "settings-probe", "endurance",
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets {
    target.swiftSettings =
        (target.swiftSettings ?? []) + [
            // SE-0335: `any` is written out.
            .enableUpcomingFeature("ExistentialAny"),
            // SE-0444: a member is visible only where its module is imported.
            .enableUpcomingFeature("MemberImportVisibility"),
            // SE-0409: what a module imports is its own business unless it says otherwise.
            .enableUpcomingFeature("InternalImportsByDefault"),
        ]
}
