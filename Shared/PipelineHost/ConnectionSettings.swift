internal import AdCore
package import Kafka
internal import Migrations
package import Postgres
package import Runtime

/// How a program reaches Kafka and PostgreSQL, whether it decides anything or not.
package struct ConnectionSettings: Sendable {
  package var bootstrapServers: String
  package var isBrokerEmbedded: Bool
  package var databaseURL: String
  package var kafkaProperties: KafkaProperties
  package var isNewerSchemaAllowed: Bool

  package static let embeddedBroker = ConfigurationKey<Bool>.flag(
    "HANDBILL_KAFKA_EMBEDDED", default: false,
    help: "The broker is the embedded one: it says no arrival times.")
  package static let kafkaPropertiesKey = ConfigurationKey<KafkaProperties>(
    "HANDBILL_KAFKA_PROPERTIES", kind: "list of name=value, divided by commas", neutral: KafkaProperties(),
    default: KafkaProperties(), isSecret: true,
    help:
      "Further librdkafka settings, such as security.protocol=SASL_SSL. A comma in a value is written \\,. What the "
      + "services' protocol rests on, such as acks, cannot be set. With debug, as in debug=fetch, librdkafka tells what it "
      + "does, in lines of level debug."
  ) { text in
    do throws(KafkaProperties.Mistake) { return .success(try KafkaProperties(text)) } catch {
      return .failure(ConfigurationValueError("must be librdkafka settings: \(error)"))
    }
  }

  package static let newerSchemaKey = ConfigurationKey<Bool>.flag(
    "HANDBILL_NEWER_SCHEMA", default: false,
    help: "Start although the database was migrated by a newer release: to go back to this one, if its notes allow it.")

  private static let fetchWaitMilliseconds = 25

  package static let declarations = [
    CommonKeys.kafkaBootstrapServers.declaration, embeddedBroker.declaration, kafkaPropertiesKey.declaration,
    CommonKeys.databaseURL.declaration, newerSchemaKey.declaration,
  ]

  package init(reader: inout ConfigurationReader) {
    bootstrapServers = reader.value(CommonKeys.kafkaBootstrapServers)
    isBrokerEmbedded = reader.value(Self.embeddedBroker)
    kafkaProperties = reader.value(Self.kafkaPropertiesKey)
    databaseURL = reader.value(CommonKeys.databaseURL)
    isNewerSchemaAllowed = reader.value(Self.newerSchemaKey)
  }

  /// The database, once it answers and has the schema that this program knows.
  ///
  /// - Parameter days: the tables of days that are kept from then on.
  /// - Throws: what ``Startup/wait(for:context:isHopeless:_:)`` throws.
  package func migratedDatabase(
    applicationName: String, days: DayTables? = nil, context: ServiceContext
  ) throws -> PostgresConfiguration {
    let database = try database(applicationName: applicationName)
    try Startup.wait(for: "schema", context: context, isHopeless: Startup.cannotMendItself) {
      let connection = try PostgresConnection(database)
      defer { connection.close() }
      do throws(MigrationError) {
        try MigrationRunner().check(connection)
      } catch {
        guard error.mayBeNewer, isNewerSchemaAllowed else { throw error }
        context.logger.warning("the schema is a newer release's", ["detail": .text("\(error)")])
      }
      let standbys: String? = try connection.query("SELECT current_setting('synchronous_standby_names')").first?.decode(
        0)
      if standbys == "" {
        context.logger.warning(
          "PostgreSQL has no synchronous standby: a failover, or the loss of its disk, loses commits (docs/runbooks.md)"
        )
      }
      try days?.makeMissing(database, connected: connection, now: context.clock.now)
    }
    days?.start(database: database, context: context)
    return database
  }

  /// - Throws: `PostgresError` when the address is none.
  package func database(applicationName: String) throws(PostgresError) -> PostgresConfiguration {
    try PostgresConfiguration(databaseURL, applicationName: applicationName)
  }

  /// - Parameter logger: hears librdkafka's own words, as ``KafkaConfiguration/told(to:)`` says.
  package func kafka(clientID: String, logger: Logger) -> KafkaConfiguration {
    var configuration = KafkaConfiguration(
      bootstrapServers: bootstrapServers, clientID: String(clientID.prefix(KafkaConfiguration.clientIDBytesMaximum)),
      environment: isBrokerEmbedded ? .embedded : .real)
    // What is committed is told at once. A broker is sent one request at a time: what comes meanwhile goes together in the next.
    configuration.lingerMilliseconds = 0
    // A partition that is opened is read only when the question for those opened before it has come back.
    configuration.fetchWaitMillisecondsMaximum = Self.fetchWaitMilliseconds
    configuration.properties = kafkaProperties.values
    return configuration.told(to: logger)
  }
}

extension KafkaConfiguration {
  /// The same, whose clients' own log lines go to a logger, at its level debug: what matters of them comes as errors too.
  /// Which there are says librdkafka's property `debug`.
  package func told(to logger: Logger) -> KafkaConfiguration {
    var configuration = self
    let own = logger.named("librdkafka")
    configuration.log = { own.debug($0.text, ["facility": .text($0.facility)]) }
    return configuration
  }
}
