// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "StoredSettings",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "StoredSettings", targets: ["StoredSettings"]),
        .library(name: "StoredSettingsCommand", targets: ["StoredSettingsCommand"]),
        .library(name: "StoredSettingsFoundation", targets: ["StoredSettingsFoundation"]),
        .library(name: "StoredSettingsEtcd", targets: ["StoredSettingsEtcd"]),
        .library(name: "StoredSettingsTesting", targets: ["StoredSettingsTesting"]),
        .executable(name: "stored-settings", targets: ["stored-settings"]),
    ],
    targets: [
        .target(name: "StoredSettings"),
        // The `config` command of a program, and its schema, sample and table of settings.
        .target(name: "StoredSettingsCommand", dependencies: ["StoredSettings"]),
        // The part that needs full Foundation, which the library itself never links on Linux.
        .target(name: "StoredSettingsFoundation", dependencies: ["StoredSettings"]),
        // A fleet's settings in etcd.
        .target(name: "StoredSettingsEtcd", dependencies: ["StoredSettings"]),
        .target(name: "StoredSettingsTesting", dependencies: ["StoredSettings"]),

        // Shows, changes and checks the settings of any program.
        .executableTarget(
            name: "stored-settings",
            dependencies: ["StoredSettings", "StoredSettingsCommand", "StoredSettingsEtcd"]
        ),

        // The examples: see Examples/README.md.
        .target(name: "ExampleSettings", dependencies: ["StoredSettings"], path: "Examples/settings"),
        .executableTarget(
            name: "quickstart",
            dependencies: ["StoredSettings", "ExampleSettings"],
            path: "Examples/quickstart",
            exclude: ["README.md"]
        ),
        .executableTarget(
            name: "watch",
            dependencies: ["StoredSettings", "ExampleSettings"],
            path: "Examples/watch",
            exclude: ["README.md"]
        ),
        .executableTarget(
            name: "tool",
            dependencies: ["StoredSettings", "StoredSettingsCommand"],
            path: "Examples/tool",
            exclude: ["README.md"]
        ),
        .executableTarget(
            name: "worker",
            dependencies: ["StoredSettings", "StoredSettingsCommand", "ExampleSettings"],
            path: "Examples/worker",
            exclude: ["README.md"]
        ),
        .executableTarget(
            name: "many-processes",
            dependencies: ["StoredSettings", "ExampleSettings"],
            path: "Examples/many-processes",
            exclude: ["README.md"]
        ),
        .executableTarget(
            name: "custom-types",
            dependencies: ["StoredSettings", "ExampleSettings"],
            path: "Examples/custom-types",
            exclude: ["README.md"]
        ),
        .executableTarget(
            name: "migrate",
            dependencies: ["StoredSettings", "ExampleSettings"],
            path: "Examples/migrate",
            exclude: ["README.md"]
        ),
        .executableTarget(
            name: "kubernetes",
            dependencies: ["StoredSettings", "ExampleSettings"],
            path: "Examples/kubernetes",
            exclude: ["README.md", "manifests"]
        ),
        .executableTarget(
            name: "systemd",
            dependencies: ["StoredSettings", "StoredSettingsCommand", "ExampleSettings"],
            path: "Examples/systemd",
            exclude: ["README.md", "units"]
        ),
        .executableTarget(
            name: "fleet",
            dependencies: ["StoredSettings", "StoredSettingsEtcd", "ExampleSettings"],
            path: "Examples/fleet",
            exclude: ["README.md"]
        ),
        .testTarget(
            name: "TestingExample",
            dependencies: ["StoredSettings", "StoredSettingsTesting"],
            path: "Examples/testing",
            exclude: ["README.md"]
        ),

        // Processes that tests start.
        .target(name: "ProcessSupport", dependencies: ["StoredSettings"], path: "Tests/ProcessSupport"),

        // Kills, races and load, for longer than a test may take: `swift run -c release endurance`.
        .executableTarget(
            name: "endurance",
            dependencies: ["StoredSettings", "ProcessSupport"],
            path: "Tests/Endurance"
        ),

        // Benchmarks, each beside its floor: `swift run -c release Benchmarks`.
        .executableTarget(name: "Benchmarks", dependencies: ["StoredSettings", "StoredSettingsEtcd"]),

        // The tier of a run, waiting with a deadline, and temporary directories.
        .target(name: "TestSupport", dependencies: ["StoredSettings", "ProcessSupport"], path: "Tests/TestSupport"),

        .testTarget(
            name: "StoredSettingsTests",
            dependencies: [
                "StoredSettings", "StoredSettingsCommand", "StoredSettingsTesting", "ProcessSupport", "TestSupport",
            ],
            exclude: ["Layers/MergingCases.json"]
        ),
        // Members of etcd, a proxy that disturbs connections, and a server with scripted answers.
        .target(
            name: "EtcdTestSupport",
            dependencies: ["StoredSettings", "ProcessSupport", "TestSupport"],
            path: "Tests/EtcdTestSupport"
        ),
        .testTarget(
            name: "StoredSettingsEtcdTests",
            dependencies: [
                "StoredSettings", "StoredSettingsCommand", "StoredSettingsEtcd", "StoredSettingsTesting",
                "EtcdTestSupport", "ProcessSupport", "TestSupport", "etcd-probe",
            ]
        ),
        .testTarget(
            name: "StoredSettingsFoundationTests",
            dependencies: ["StoredSettings", "StoredSettingsFoundation", "StoredSettingsTesting", "TestSupport"]
        ),
        // The code of Documentation/ComingFrom….md, compiled and run.
        .testTarget(
            name: "GuideTests",
            dependencies: ["StoredSettings", "StoredSettingsFoundation", "TestSupport"]
        ),
        .testTarget(
            name: "ExampleTests",
            dependencies: [
                "StoredSettings", "EtcdTestSupport", "ProcessSupport", "TestSupport", "custom-types", "fleet",
                "kubernetes", "many-processes", "migrate", "quickstart", "settings-probe", "stored-settings",
                "systemd", "tool", "watch", "worker",
            ]
        ),

        // A process of a fleet, which tests run beside others.
        .executableTarget(
            name: "etcd-probe",
            dependencies: ["StoredSettings", "StoredSettingsEtcd", "ProcessSupport"],
            path: "Tests/EtcdProbe"
        ),

        // Reads that have to compile to loads; `.ci/check-hot-reads` disassembles them.
        .target(name: "HotReads", dependencies: ["StoredSettings"], path: "Tests/HotReads"),

        // A client module, which only sees the public API.
        .target(name: "ClientModule", dependencies: ["StoredSettings"], path: "Tests/ClientModule"),
        .testTarget(
            name: "ClientTests",
            dependencies: ["ClientModule", "StoredSettings", "StoredSettingsTesting", "ProcessSupport"]
        ),

        // Several processes on one file, which run the probe.
        .executableTarget(
            name: "settings-probe",
            dependencies: ["StoredSettings", "StoredSettingsCommand", "ProcessSupport"],
            path: "Tests/SettingsProbe"
        ),
        .testTarget(
            name: "MultiProcessTests",
            dependencies: [
                "StoredSettings", "StoredSettingsTesting", "ProcessSupport", "TestSupport",
                "settings-probe", "endurance",
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets {
    target.swiftSettings =
        (target.swiftSettings ?? []) + [
            // SE-0335: `any` is required.
            .enableUpcomingFeature("ExistentialAny"),
            // SE-0444: a member is visible only where its module is imported.
            .enableUpcomingFeature("MemberImportVisibility"),
            // SE-0409: imports are internal by default.
            .enableUpcomingFeature("InternalImportsByDefault"),
        ]
    // A release build of the tests examines the optimized library, and would need twice the time for tests that are optimized as well.
    if target.type == .test { target.swiftSettings?.append(.unsafeFlags(["-Onone"], .when(configuration: .release))) }
}
