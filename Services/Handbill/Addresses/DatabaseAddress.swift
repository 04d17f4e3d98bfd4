internal import Foundation
internal import Postgres
internal import Runtime

/// Which database a command works on.
enum DatabaseAddress {
  /// What every command that needs the database reads.
  static let keys = [CommonKeys.databaseURL.declaration]
  static let options = keys.map(AddressOptions.option)

  /// A connection, opened.
  ///
  /// - Throws: `ConfigurationProblems` without an address, `PostgresError` when it does not answer.
  static func connect(_ invocation: Invocation) throws -> PostgresConnection {
    try connect(address(invocation))
  }

  /// The database's address.
  ///
  /// - Throws: `ConfigurationProblems` when nothing says it.
  static func address(_ invocation: Invocation) throws(ConfigurationProblems) -> String {
    try ConfigurationReader.read(
      commandLine: invocation.values.compactMapValues(\.last), environment: ProcessInfo.processInfo.environment
    ) { $0.value(CommonKeys.databaseURL) }
  }

  /// What a command reads that makes tables and gives rights.
  static let maintenanceKeys = keys + [CommonKeys.maintenanceURL.declaration]
  static let maintenanceOptions = maintenanceKeys.map(AddressOptions.option)

  /// A connection by the way that tables are made, opened.
  ///
  /// - Throws: as ``connect(_:)``.
  static func connectForMaintenance(_ invocation: Invocation) throws -> PostgresConnection {
    let address = try ConfigurationReader.read(
      commandLine: invocation.values.compactMapValues(\.last), environment: ProcessInfo.processInfo.environment
    ) { $0.value(CommonKeys.maintenanceURL) }
    if let address { return try connect(address) }
    return try connect(invocation)
  }

  /// A connection to the database at `address`, opened.
  static func connect(_ address: String) throws(PostgresError) -> PostgresConnection {
    try PostgresConnection(PostgresConfiguration(address, applicationName: "handbill"))
  }
}

/// Configuration keys as options.
enum AddressOptions {
  static func option(_ declaration: ConfigurationDeclaration) -> CommandOption {
    let names = [declaration.name] + declaration.otherNames
    return .value(
      declaration.optionName, "VALUE", help: "\(declaration.help) (else from \(names.joined(separator: " or ")))")
  }
}
