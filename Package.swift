// swift-tools-version: 6.2
import PackageDescription

/// For whatever imports a C library or holds memory by hand: every use of memory that Swift does not watch is marked
/// `unsafe`.
let touchesC: [SwiftSetting] = [.strictMemorySafety()]

// Targets in the order of the imports: each may use only what stands above it.
let systemLibraries: [Target] = [
  .systemLibrary(
    name: "CLibrdkafka", path: "Shared/C/Librdkafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
  .systemLibrary(name: "CLibpq", path: "Shared/C/Libpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
  .systemLibrary(
    name: "CLibcrypto", path: "Shared/C/Libcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
  .systemLibrary(
    name: "CSQLite", path: "Shared/C/SQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
  .systemLibrary(name: "CZlib", path: "Shared/C/Zlib", providers: [.apt(["zlib1g-dev"])]),
  .systemLibrary(name: "CMalloc", path: "Shared/C/Malloc"),
  .systemLibrary(name: "CPidfd", path: "Shared/C/Pidfd"),
  .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/C"),
  .target(name: "CLibmicrohttpd", path: "Shared/C/Libmicrohttpd", linkerSettings: [.linkedLibrary("microhttpd")]),
]

let shared: [Target] = [
  .target(name: "Threads", path: "Shared/Threads", swiftSettings: touchesC),
  .target(name: "JSON", path: "Shared/JSON"), .target(name: "Records", path: "Shared/Records"),
  .target(name: "Hashes", path: "Shared/Hashes"),
  .target(name: "AdBasics", dependencies: ["Hashes"], path: "Shared/AdBasics"),
  .target(name: "Pictures", dependencies: ["AdBasics", "Hashes"], path: "Shared/Pictures"),
  .plugin(
    name: "EmbedSchema", capability: .buildTool(), dependencies: ["SchemaEmbedder"], path: "Plugins/EmbedSchema"),
  .executableTarget(name: "SchemaEmbedder", path: "Plugins/SchemaEmbedder"),
  .target(
    name: "AdEvents", dependencies: ["AdBasics", "Hashes", "JSON", "Records"], path: "Shared/AdEvents",
    exclude: ["Schema"],
    plugins: ["EmbedSchema"]),
  .target(name: "SQLite", dependencies: ["CSQLite"], path: "Shared/SQLite", swiftSettings: touchesC),
  // The client SDK is what stands up to here: no C library but SQLite.
  .target(
    name: "AdClient", dependencies: ["AdBasics", "AdEvents", "Hashes", "SQLite", "Threads"], path: "Shared/AdClient"),
  .target(
    name: "Crypto", dependencies: ["CLibcrypto", "Hashes"], path: "Shared/Crypto", swiftSettings: touchesC),
  .target(name: "AdCore", dependencies: ["AdBasics", "Crypto"], path: "Shared/AdCore"),
  .target(
    name: "Kafka", dependencies: ["CLibrdkafka", "Records", "Threads"], path: "Shared/Kafka", swiftSettings: touchesC),
  .target(name: "Postgres", dependencies: ["CLibpq", "Threads"], path: "Shared/Postgres", swiftSettings: touchesC),
  .plugin(
    name: "EmbedMigrations", capability: .buildTool(), dependencies: ["MigrationEmbedder"],
    path: "Plugins/EmbedMigrations"),
  .executableTarget(name: "MigrationEmbedder", path: "Plugins/MigrationEmbedder"),
  .target(
    name: "Migrations", dependencies: ["AdCore", "Crypto", "Postgres"], path: "Shared/Migrations",
    exclude: ["Tables", "Logic"],
    plugins: ["EmbedMigrations"]),
  .target(
    name: "HTTP", dependencies: ["CLibmicrohttpd", "CZlib", "JSON", "Threads"], path: "Shared/HTTP",
    swiftSettings: touchesC),
  .target(
    name: "Pipeline", dependencies: ["AdCore", "AdEvents", "Crypto", "JSON", "Records"], path: "Shared/Pipeline"),
  .target(
    name: "Runtime",
    dependencies: ["AdCore", "CMalloc", "HTTP", "JSON", "Kafka", "Migrations", "Postgres", "Threads"],
    path: "Shared/Runtime", swiftSettings: touchesC),
  .target(
    name: "PipelineHost",
    dependencies: [
      "AdCore", "AdEvents", "Crypto", "Kafka", "Migrations", "Pipeline", "Postgres", "Records", "Runtime", "Threads",
    ],
    path: "Shared/PipelineHost"),
  .target(
    name: "AdClientKafka", dependencies: ["AdClient", "AdBasics", "AdEvents", "Kafka", "Records", "Threads"],
    path: "Shared/AdClientKafka"),
  .target(
    name: "LocalProcesses", dependencies: ["CPidfd", "HTTP", "Threads"], path: "Shared/LocalProcesses",
    swiftSettings: touchesC),
]

let everythingShared: [Target.Dependency] = [
  "AdCore", "AdEvents", "Crypto", "HTTP", "JSON", "Kafka", "Pipeline", "PipelineHost", "Postgres", "Records",
  "Runtime", "Threads",
]
/// What the command and the console do alike.
let operations = Target.target(name: "Operations", dependencies: everythingShared, path: "Shared/Operations")
let pure: [Target.Dependency] = ["AdCore", "AdEvents", "Crypto", "JSON", "Pipeline", "Records"]

let services: [Target] = [
  .target(name: "AdSelectionCore", dependencies: pure + ["Pictures"], path: "Services/AdSelection/Core"),
  .target(name: "ImpressionTrackingCore", dependencies: pure, path: "Services/ImpressionTracking/Core"),
  .target(name: "ClickTrackingCore", dependencies: pure, path: "Services/ClickTracking/Core"),
  .target(name: "BillingCore", dependencies: pure, path: "Services/Billing/Core"),
  .target(name: "EdgeCore", dependencies: pure, path: "Services/Edge/Core"),
  .executableTarget(
    name: "AdSelection", dependencies: ["AdSelectionCore"] + everythingShared, path: "Services/AdSelection/Service"),
  .executableTarget(
    name: "ImpressionTracking", dependencies: ["ImpressionTrackingCore"] + everythingShared,
    path: "Services/ImpressionTracking/Service"),
  .executableTarget(
    name: "ClickTracking", dependencies: ["ClickTrackingCore"] + everythingShared,
    path: "Services/ClickTracking/Service"),
  .executableTarget(
    name: "Billing", dependencies: ["BillingCore"] + everythingShared, path: "Services/Billing/Service"),
  .executableTarget(
    name: "Edge", dependencies: ["EdgeCore", "Pictures"] + everythingShared, path: "Services/Edge/Service"),
  .executableTarget(name: "Console", dependencies: ["Operations"] + everythingShared, path: "Services/Console"),
  .executableTarget(
    name: "Handbill",
    dependencies: [
      "AdClient", "AdClientKafka", "AdSelectionCore", "LocalProcesses", "Migrations", "Operations", "Pictures",
    ]
      + everythingShared,
    path: "Services/Handbill"),
]

func unitTest(_ module: String, _ others: [Target.Dependency] = []) -> Target {
  .testTarget(name: "\(module)Tests", dependencies: [.byName(name: module)] + others, path: "Tests/Unit/\(module)Tests")
}

/// Servers that tests start, and what makes them fail.
let servers: [Target.Dependency] = ["LocalProcesses", "TestServers"]
let testTools: [Target.Dependency] = ["LocalProcesses", "TestServers", "TestServices", "TestValues"]

let overKafka: [Target.Dependency] = [
  "AdBasics", "AdClient", "AdEvents", "BrokerFaults", "Kafka", "Records", "TestValues", "Threads",
]

let tests: [Target] = [
  .target(name: "TestServers", dependencies: ["Kafka", "LocalProcesses", "Threads"], path: "Tests/Support/Servers"),
  .target(
    name: "BrokerFaults", dependencies: ["CLibrdkafka", "Kafka"], path: "Tests/Support/BrokerFaults",
    swiftSettings: touchesC),
  .target(
    name: "ForeignClients", dependencies: ["CLibrdkafka"], path: "Tests/Support/ForeignClients",
    swiftSettings: touchesC),
  .target(
    name: "TestValues", dependencies: ["AdBasics", "AdCore", "AdEvents", "AdSelectionCore", "Pipeline", "Threads"],
    path: "Tests/Support/Values"),
  .target(
    name: "TestServices",
    dependencies: [
      "AdCore", "AdEvents", "Migrations", "Pipeline", "PipelineHost", "Postgres", "Records", "Runtime", "TestServers",
      "TestValues",
    ],
    path: "Tests/Support/Services"),
  .target(
    name: "FuzzTargets", dependencies: ["Operations", "TestValues"] + everythingShared, path: "Tests/Fuzz/Targets"),
  .executableTarget(
    name: "Fuzzer", dependencies: ["CFuzzer", "FuzzTargets", "Runtime"], path: "Tests/Fuzz/Run", swiftSettings: touchesC
  ),
  .testTarget(name: "FuzzTests", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Tests"),
  unitTest("Crypto"), unitTest("AdCore", ["AdBasics", "Crypto", "Records", "TestValues"]),
  unitTest("AdEvents", ["AdCore", "Crypto", "FuzzTargets", "JSON", "Records", "TestServers", "TestValues"]),
  unitTest("SchemaEmbedder"),
  unitTest("HTTP", ["JSON", "TestServers", "TestValues", "Threads"]), unitTest("JSON"),
  unitTest("Pipeline", ["AdCore", "AdEvents", "Records", "TestValues"]),
  unitTest("Runtime", ["AdCore", "HTTP", "TestServices", "TestValues", "Threads"]), unitTest("Threads"),
  unitTest("PipelineHost", ["AdCore", "Kafka", "Pipeline", "Postgres", "Runtime"]),
  unitTest("Handbill", ["AdBasics", "AdClient", "LocalProcesses", "Pictures", "Runtime", "TestValues", "Threads"]),
  unitTest("Pictures", ["AdBasics", "Crypto"]), unitTest("Hashes", ["Crypto"]), unitTest("SQLite"),
  .testTarget(name: "AdClientAppTests", dependencies: ["AdClient"], path: "Tests/Unit/AdClientAppTests"),
  .target(name: "ExampleTerminal", dependencies: ["AdClient"], path: "examples/terminal"),
  .executableTarget(name: "ExampleGame", dependencies: ["AdClient", "ExampleTerminal"], path: "examples/game"),
  .executableTarget(name: "ExampleMagazine", dependencies: ["AdClient", "ExampleTerminal"], path: "examples/magazine"),
  .testTarget(
    name: "ExampleTests", dependencies: ["AdClient", "ExampleGame", "ExampleMagazine", "ExampleTerminal"],
    path: "Tests/Unit/ExampleTests"),
  unitTest("AdClient", ["AdBasics", "AdEvents", "Hashes", "LocalProcesses", "SQLite", "Threads"]),
  unitTest("AdClientKafka", overKafka),
  unitTest("AdSelectionCore", ["TestValues"] + pure),
  unitTest("EdgeCore", ["TestValues"] + pure),
  unitTest("ImpressionTrackingCore", ["TestValues"] + pure),
  unitTest("ClickTrackingCore", ["TestValues"] + pure), unitTest("BillingCore", ["TestValues"] + pure),
  .testTarget(name: "ArchitectureTests", dependencies: ["Hashes"], path: "Tests/Architecture"),
  .testTarget(
    name: "KafkaTests",
    dependencies: [
      "BrokerFaults", "CLibrdkafka", "ForeignClients", "Kafka", "LocalProcesses", "Records",
      "TestServers", "TestValues", "Threads",
    ],
    path: "Tests/Integration/KafkaTests", swiftSettings: touchesC),
  .testTarget(
    name: "PostgresTests", dependencies: ["AdCore", "Migrations", "Postgres", "TestServices"] + servers,
    path: "Tests/Integration/PostgresTests"),
  .testTarget(
    name: "HostingTests",
    dependencies: ["BrokerFaults", "ImpressionTracking", "ImpressionTrackingCore", "Migrations"] + testTools
      + everythingShared,
    path: "Tests/Integration/HostingTests"),
  .testTarget(
    name: "ImpressionTrackingTests",
    dependencies: ["ImpressionTracking", "ImpressionTrackingCore", "Operations"] + testTools + everythingShared,
    path: "Tests/Integration/ImpressionTrackingTests"),
  .testTarget(
    name: "ClickTrackingTests",
    dependencies: ["ClickTracking", "ClickTrackingCore", "Handbill"] + testTools + everythingShared,
    path: "Tests/Integration/ClickTrackingTests"),
  .testTarget(
    name: "BillingTests",
    dependencies: ["AdSelectionCore", "Billing", "BillingCore", "Operations", "Simulation"] + testTools
      + everythingShared,
    path: "Tests/Integration/BillingTests"),
  .testTarget(
    name: "CostTests",
    dependencies: [
      "AdSelection", "AdSelectionCore", "Billing", "BillingCore", "ClickTracking", "ClickTrackingCore",
      "ImpressionTracking", "ImpressionTrackingCore", "Migrations", "Operations",
    ] + testTools + everythingShared,
    path: "Tests/Integration/CostTests"),
  .testTarget(
    name: "AdSelectionTests",
    dependencies: ["AdSelection", "AdSelectionCore", "Handbill", "Operations"] + testTools + everythingShared,
    path: "Tests/Integration/AdSelectionTests"),
  .testTarget(
    name: "EdgeTests",
    dependencies: ["AdBasics", "Edge", "EdgeCore", "BrokerFaults", "Pictures"] + testTools + everythingShared,
    path: "Tests/Integration/EdgeTests"),
  .testTarget(
    name: "DeployTests",
    dependencies: [
      "AdSelection", "AdSelectionCore", "Billing", "ClickTracking", "Console", "Edge", "Handbill",
      "ImpressionTracking", "Migrations",
    ]
      + testTools + everythingShared,
    path: "Tests/Integration/DeployTests"),
  .testTarget(name: "LocalProcessesTests", dependencies: servers, path: "Tests/Integration/LocalProcessesTests"),
  .target(
    name: "Simulation",
    dependencies: ["AdSelectionCore", "BillingCore", "ClickTrackingCore", "ImpressionTrackingCore", "TestValues"]
      + pure,
    path: "Tests/Simulation/Worlds"),
  .executableTarget(name: "Simulator", dependencies: ["Simulation"], path: "Tests/Simulation/Run"),
  .testTarget(
    name: "SimulationTests", dependencies: ["Simulation"], path: "Tests/Simulation/Tests"),
  .testTarget(
    name: "OperationsTests", dependencies: ["Console", "Migrations", "Operations"] + testTools + everythingShared,
    path: "Tests/Integration/OperationsTests"),
  .testTarget(
    name: "NetworkTests",
    dependencies: ["AdBasics", "AdClient", "AdClientKafka", "Faults", "Operations", "Pictures"] + testTools
      + everythingShared,
    path: "Tests/Integration/NetworkTests"),
  .executableTarget(
    name: "Benchmarks",
    dependencies: ["AdSelectionCore", "Migrations", "Operations", "TestValues"] + servers + everythingShared,
    path: "Tests/Benchmarks"),
  .executableTarget(
    name: "Faults",
    dependencies: ["AdClient", "AdClientKafka", "ForeignClients", "FuzzTargets", "Migrations", "TestValues"] + servers
      + everythingShared,
    path: "Tests/Fault"),
]

// Only `make release` and `deploy/images` set it: the programs alone, so that one build makes all of them at once.
let isProgramsOnly = Context.environment["PROGRAMS_ONLY"] != nil

let package = Package(
  name: "handbill",
  // The SDK's; the services run on Linux.
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "AdClient", targets: ["AdClient"]),
    .library(name: "AdClientKafka", targets: ["AdClientKafka"]),
    .executable(name: "handbill", targets: ["Handbill"]),
    .executable(name: "handbill-ad-selection", targets: ["AdSelection"]),
    .executable(name: "handbill-impression-tracking", targets: ["ImpressionTracking"]),
    .executable(name: "handbill-click-tracking", targets: ["ClickTracking"]),
    .executable(name: "handbill-billing", targets: ["Billing"]),
    .executable(name: "handbill-edge", targets: ["Edge"]),
    .executable(name: "handbill-console", targets: ["Console"]),
  ],
  targets: systemLibraries + shared + [operations] + services + (isProgramsOnly ? [] : tests),
  swiftLanguageModes: [.v6]
)

// One language for all of ours, without exceptions.
for target in package.targets where target.type != .system && target.type != .plugin {
  target.swiftSettings =
    (target.swiftSettings ?? []) + [
      .treatAllWarnings(as: .error),
      .enableUpcomingFeature("ExistentialAny"),
      .enableUpcomingFeature("MemberImportVisibility"),
    ]
}

// Only `make fuzz` sets it: every branch taken is counted, and libFuzzer is linked in. Tools of the build stay as they
// are.
if Context.environment["FUZZING"] != nil {
  let counting = SwiftSetting.unsafeFlags(["-sanitize=fuzzer"])
  let buildTools = ["MigrationEmbedder", "SchemaEmbedder"]
  for target in package.targets where target.swiftSettings != nil && !buildTools.contains(target.name) {
    target.swiftSettings?.append(contentsOf: [counting, .define("FUZZING")])
    if target.name == "Fuzzer" { target.linkerSettings = [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])] }
  }
}

// Only what runs all tests sets it: they share two cores with servers, so what they compute with is optimised.
if Context.environment["OPTIMISED"] != nil {
  let cores = services.map(\.name).filter { $0.hasSuffix("Core") }
  for target in package.targets
  where target.type == .regular && (shared.map(\.name) + cores + ["Simulation"]).contains(target.name) {
    target.swiftSettings?.append(.unsafeFlags(["-O", "-whole-module-optimization", "-num-threads", "2"]))
  }
}
