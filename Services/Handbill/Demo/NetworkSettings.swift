internal import Foundation
internal import LocalProcesses
internal import Runtime

/// What `demo` and `up` start, and where.
struct LocalNetworkSettings: Sendable {
  /// Which Kafka is used.
  enum KafkaChoice: Sendable, Equatable {
    case embedded
    /// The Kafka of this machine, started for the run.
    case local
    /// One that runs already.
    case external(bootstrapServers: String)
  }

  /// Everything of the run that lasts: data, logs, keys.
  var folder: String
  var kafka: KafkaChoice
  /// One that runs already, and what names it; nil for a PostgreSQL of our own.
  var database: (variable: String, url: String)?
  var partitions: Int32

  static let options: [CommandOption] = [
    .value("folder", "PATH", help: "Where data, logs and keys are kept (else DEMO_DIR, else .demo)."),
    .value(
      "kafka", "embedded|local",
      help: "The broker in memory, or the Kafka of KAFKA_HOME; by default HANDBILL_KAFKA_BOOTSTRAP_SERVERS or "
        + "KAFKA_BOOTSTRAP_SERVERS says where one runs, else the Kafka in KAFKA_HOME is started, else the one in memory."
    ),
    .value(
      "partitions", letter: "p", "COUNT", default: String(TopicsCommand.partitionsDefault),
      help: "The network's partition count."),
  ]

  init(_ invocation: Invocation) throws(UsageError) {
    let environment = ProcessInfo.processInfo.environment
    func named(_ names: String...) -> (variable: String, value: String)? {
      names.compactMap { name in environment[name].map { (name, $0) } }.first { !$0.1.isEmpty }
    }
    let path = invocation.text("folder") ?? named("DEMO_DIR")?.value ?? ".demo"
    folder = URL(fileURLWithPath: path).standardizedFileURL.path
    database = named("HANDBILL_DATABASE_URL", "DATABASE_URL").map { ($0.variable, $0.value) }
    partitions = Int32(try invocation.integer("partitions", in: 1...64) ?? Int(TopicsCommand.partitionsDefault))
    switch invocation.text("kafka") {
    case "embedded": kafka = .embedded
    case "local": kafka = .local
    case nil:
      if let servers = named("HANDBILL_KAFKA_BOOTSTRAP_SERVERS", "KAFKA_BOOTSTRAP_SERVERS")?.value {
        kafka = .external(bootstrapServers: servers)
      } else {
        let missing = KafkaInstallation.reasonMissing
        if let missing, named("KAFKA_HOME") != nil {
          Terminal.note("\(invocation.path.joined(separator: " ")): \(missing); the broker in memory takes its place")
        }
        kafka = missing == nil ? .local : .embedded
      }
    case .some: throw UsageError("--kafka must be embedded or local")
    }
  }

  func path(_ name: String) -> String { "\(folder)/\(name)" }
}
