internal import AdCore
internal import Kafka
internal import Operations
internal import Postgres
internal import Runtime

/// Accepts that the database has lost commits: what the topics still hold is taken back, and everything goes on above it.
/// All of it is one transaction.
struct RestoreAcceptance {
  let kafka: KafkaAddress
  let databaseURL: String
  /// What the topics hold is believed under these keys.
  let ring: KeyRing
  /// Nothing is changed.
  var isTrial = false

  /// Blocks.
  func accept() throws -> RestoreResult {
    // Read first: what is in a topic is in the tables before, unless it was lost.
    let catalog = try CatalogTopic.read(kafka.configuration(clientID: "handbill-restore"), ring: ring)
    let connection = try DatabaseAddress.connect(databaseURL)
    defer { connection.close() }
    try connection.begin()
    let result = RestoreResult(isTrial: isTrial, catalog: try CatalogStore.takeBack(from: catalog, in: connection))
    if isTrial { try connection.rollback() } else { try connection.commit() }
    return result
  }
}
