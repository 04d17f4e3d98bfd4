internal import Foundation
internal import Kafka
internal import PipelineHost
internal import Runtime

/// Which Kafka a command works on.
struct KafkaAddress: Sendable {
  var bootstrapServers: String
  var isEmbedded: Bool
  /// The control socket of an embedded broker: the only way to make topics there.
  var controlSocket: String?
  /// Further librdkafka settings.
  var properties: [String: String] = [:]

  static let controlSocketKey = ConfigurationKey<String>.path(
    "HANDBILL_KAFKA_CONTROL_SOCKET", help: "The embedded broker's control socket, through which topics are made there."
  ).optional()

  /// What every command that needs Kafka reads.
  static let keys = [
    CommonKeys.kafkaBootstrapServers.declaration, ConnectionSettings.embeddedBroker.declaration,
    ConnectionSettings.kafkaPropertiesKey.declaration, controlSocketKey.declaration,
  ]
  static let options = keys.map(AddressOptions.option)

  /// - Throws: `ConfigurationProblems` when nothing says where Kafka is.
  init(_ invocation: Invocation) throws {
    let commandLine = invocation.values.compactMapValues(\.last)
    let environment = ProcessInfo.processInfo.environment
    self = try ConfigurationReader.read(commandLine: commandLine, environment: environment) { reader in
      KafkaAddress(&reader, servers: reader.value(CommonKeys.kafkaBootstrapServers))
    }
  }

  /// Nil when nothing says where Kafka is, for a command that does without.
  ///
  /// - Throws: `ConfigurationProblems` for a wrong setting.
  static func ifGiven(_ invocation: Invocation) throws(ConfigurationProblems) -> KafkaAddress? {
    try ConfigurationReader.read(
      commandLine: invocation.values.compactMapValues(\.last), environment: ProcessInfo.processInfo.environment
    ) { reader in
      reader.value(CommonKeys.kafkaBootstrapServers.optional()).map { KafkaAddress(&reader, servers: $0) }
    }
  }

  private init(_ reader: inout ConfigurationReader, servers: String) {
    let socket = reader.value(Self.controlSocketKey)
    self.init(
      bootstrapServers: servers, isEmbedded: reader.value(ConnectionSettings.embeddedBroker) || socket != nil,
      controlSocket: socket, properties: reader.value(ConnectionSettings.kafkaPropertiesKey).values)
  }

  init(
    bootstrapServers: String, isEmbedded: Bool, controlSocket: String? = nil, properties: [String: String] = [:]
  ) {
    self.bootstrapServers = bootstrapServers
    self.isEmbedded = isEmbedded
    self.controlSocket = controlSocket
    self.properties = properties
  }

  /// How a client of this command reaches it.
  func configuration(clientID: String) -> KafkaConfiguration {
    var configuration = KafkaConfiguration(
      bootstrapServers: bootstrapServers, clientID: clientID, environment: isEmbedded ? .embedded : .real)
    configuration.properties = properties
    return configuration
  }
}
