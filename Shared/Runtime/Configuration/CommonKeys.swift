/// Keys that several executables share.
package enum CommonKeys {
  package static let kafkaBootstrapServers = ConfigurationKey<String>.text(
    "HANDBILL_KAFKA_BOOTSTRAP_SERVERS", otherNames: ["KAFKA_BOOTSTRAP_SERVERS"],
    help: "Addresses of Kafka brokers to begin with, host:port divided by commas.")

  package static let databaseURL = ConfigurationKey<String>.url(
    "HANDBILL_DATABASE_URL", otherNames: ["DATABASE_URL"], schemes: ["postgres", "postgresql"], isSecret: true,
    help: "The PostgreSQL database.")

  package static let maintenanceURL = ConfigurationKey<String>.url(
    "HANDBILL_DATABASE_MAINTENANCE_URL", schemes: ["postgres", "postgresql"], isSecret: true,
    help: """
      The way to the same database by which tables are made and dropped, and rights are given: for migrations, days and \
      retention. Where it is not set, HANDBILL_DATABASE_URL is.
      """
  ).optional()

  package static let logLevel = ConfigurationKey<LogLevel>(
    "HANDBILL_LOG_LEVEL", kind: LogLevel.allCases.map(\.rawValue).joined(separator: "|"), neutral: .info,
    default: .info, defaultText: "info", help: "The least important level that is logged."
  ) { text in
    let list = LogLevel.allCases.map(\.rawValue).joined(separator: ", ")
    return LogLevel(rawValue: text.lowercased()).map(Result.success)
      ?? .failure(ConfigurationValueError("must be one of \(list)"))
  }

  package static let adminAddress = ConfigurationKey<String>.text(
    "HANDBILL_ADMIN_ADDRESS", default: "127.0.0.1",
    help: "The IP address on which health, metrics and version are served; 0.0.0.0 in a container.")

  package static let adminPort = ConfigurationKey<Int>.integer(
    "HANDBILL_ADMIN_PORT", in: 0...65_535, default: 9_400,
    help: "The port on which health, metrics and version are served; 0 takes a free one and logs it.")

  package static let shutdownMilliseconds = ConfigurationKey<Int>.milliseconds(
    "HANDBILL_SHUTDOWN_TIMEOUT", in: 100...600_000, default: 25_000,
    help: "How long an ordered stop may take before the process ends all the same.")

  /// The keys that every service has because ``ServiceMain`` reads them.
  package static let ofEveryService: [ConfigurationDeclaration] = [
    logLevel.declaration, adminAddress.declaration, adminPort.declaration, shutdownMilliseconds.declaration,
  ]
}
