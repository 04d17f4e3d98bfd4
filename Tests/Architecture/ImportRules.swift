/// Which module may import which: imports point one way, and only one target sees each C library.
enum ImportRules {
  /// One folder and the modules of ours that its files may import.
  struct Rule: Sendable {
    let folder: String
    let modules: Set<String>
    /// Without I/O, clock or randomness of their own.
    let isPure: Bool

    init(_ folder: String, _ modules: Set<String>, isPure: Bool = false) {
      self.folder = folder
      self.modules = modules
      self.isPure = isPure
    }
  }

  private static let everythingShared: Set = [
    "AdCore", "AdEvents", "Crypto", "HTTP", "JSON", "Kafka", "Pipeline", "PipelineHost", "Postgres", "Records",
    "Runtime", "Threads",
  ]
  private static let pure: Set = ["AdCore", "AdEvents", "Crypto", "JSON", "Pipeline", "Records"]

  static let rules: [Rule] = [
    Rule("Shared/Threads", []),
    Rule("Shared/JSON", [], isPure: true),
    Rule("Shared/Records", [], isPure: true),
    Rule("Shared/Hashes", [], isPure: true),
    Rule("Shared/AdBasics", ["Hashes"], isPure: true),
    Rule("Shared/AdEvents", ["AdBasics", "Hashes", "JSON", "Records"], isPure: true),
    Rule("Shared/Pictures", ["AdBasics", "Hashes"], isPure: true),
    Rule("Shared/SQLite", ["CSQLite"]),
    Rule("Shared/AdClientKafka", ["AdBasics", "AdClient", "AdEvents", "Kafka", "Records", "Threads"]),
    Rule("Shared/AdClient", ["AdBasics", "AdEvents", "Hashes", "SQLite", "Threads"]),
    Rule("Shared/Crypto", ["CLibcrypto", "Hashes"]),
    Rule("Shared/AdCore", ["AdBasics", "Crypto"], isPure: true),
    Rule("Shared/Pipeline", ["AdCore", "AdEvents", "Crypto", "JSON", "Records"], isPure: true),
    Rule("Shared/Kafka", ["CLibrdkafka", "Records", "Threads"]),
    Rule("Shared/Postgres", ["CLibpq", "Threads"]),
    Rule("Shared/Migrations", ["AdCore", "Crypto", "Postgres"]),
    Rule("Shared/HTTP", ["CLibmicrohttpd", "CZlib", "JSON", "Threads"]),
    Rule("Shared/Runtime", ["AdCore", "CMalloc", "HTTP", "JSON", "Kafka", "Migrations", "Postgres", "Threads"]),
    Rule(
      "Shared/PipelineHost",
      ["AdCore", "AdEvents", "Crypto", "Kafka", "Migrations", "Pipeline", "Postgres", "Records", "Runtime", "Threads"]),
    Rule("Shared/LocalProcesses", ["CPidfd", "HTTP", "Threads"]),
    Rule("Shared/Operations", everythingShared),
    Rule("Services/AdSelection/Core", pure.union(["Pictures"]), isPure: true),
    Rule("Services/ImpressionTracking/Core", pure, isPure: true),
    Rule("Services/ClickTracking/Core", pure, isPure: true),
    Rule("Services/Billing/Core", pure, isPure: true),
    Rule("Services/Edge/Core", pure, isPure: true),
    Rule("Services/AdSelection/Service", everythingShared.union(["AdSelectionCore"])),
    Rule("Services/ImpressionTracking/Service", everythingShared.union(["ImpressionTrackingCore"])),
    Rule("Services/ClickTracking/Service", everythingShared.union(["ClickTrackingCore"])),
    Rule("Services/Billing/Service", everythingShared.union(["BillingCore"])),
    Rule("Services/Edge/Service", everythingShared.union(["EdgeCore", "Pictures"])),
    Rule("Services/Console", everythingShared.union(["Operations"])),
    Rule(
      "Services/Handbill",
      everythingShared.union([
        "AdClient", "AdClientKafka", "AdSelectionCore", "LocalProcesses", "Migrations", "Operations", "Pictures",
      ])),
  ]

  private static let systemModules: Set = [
    "Dispatch", "Foundation", "FoundationEssentials", "FoundationNetworking", "Glibc", "Synchronization",
  ]

  /// Foundation is allowed for its calendar; what it has of I/O is among the words below.
  private static let pureSystemModules: Set = ["Foundation", "Synchronization"]

  /// What pure code must be given, never take: the hour, chance, and anything outside the process.
  private static let impureWords = [
    "Date()", "Date.now", "ContinuousClock", "SuspendingClock", "clock_gettime", "SystemRandomNumberGenerator",
    ".random(in:", "UUID()", "FileManager", "FileHandle", "ProcessInfo", "Process()", "Thread", "Bundle", "URLSession",
    "Data(contentsOf",
    "String(contentsOf", "print(", "SecureRandom",
  ]

  /// The rule of a product's file; nil for tests and the manifest.
  static func rule(for path: String) -> Rule? { rules.first { path.hasPrefix($0.folder + "/") } }

  /// What a file imports or uses against the rule of its folder.
  static func violations(_ file: SourceFile) -> [String] {
    guard file.path.hasPrefix("Shared/") || file.path.hasPrefix("Services/") || file.path.hasPrefix("deploy/") else {
      return []
    }
    guard let rule = rule(for: file.path) else { return ["\(file.path): lies in no folder with an import rule"] }
    let allowed = rule.modules.union(rule.isPure ? pureSystemModules : systemModules)
    let imports = file.imports.filter { !allowed.contains($0) }.map { "\(file.path): may not import \($0)" }
    guard rule.isPure else { return imports }
    return imports
      + impureWords.flatMap { word in
        file.codeLines(with: word).map { "\(file.path):\($0): pure code may not use \(word)" }
      }
  }
}
