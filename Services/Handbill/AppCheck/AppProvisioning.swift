internal import AdCore
internal import AdEvents
internal import JSON
internal import Kafka
internal import Operations

/// What apps need on the brokers before they get answers: a topic for them, and rights. Both are made as `handbill topics`
/// makes them; what is there stays.
struct AppProvisioning: Sendable {
  /// What became of it, app by app.
  struct Result: Sendable {
    let app: AppID
    let topic: String
    let rights: String

    var text: String { "app \(app): topic \(topic); rights \(rights)" }
    var json: JSONValue { ["app": .text(app.text), "rights": .text(rights), "topic": .text(topic)] }
  }

  let apps: [AppID]
  let kafka: KafkaAddress
  let names: BrokerUserNames

  /// What was made, and what is left to somebody who may. Blocks.
  func make() -> (results: [Result], steps: [CatalogStep]) {
    guard !apps.isEmpty else { return ([], []) }
    let (topics, topicStep) = makeTopics()
    let (rights, rightsStep) = giveRights()
    return (
      apps.map { Result(app: $0, topic: topics[$0] ?? "", rights: rights[$0] ?? "") },
      apps.flatMap { app in [topicStep, rightsStep].compactMap { $0?(app) } }
    )
  }

  private typealias Step = (AppID) -> CatalogStep

  /// As many partitions and copies as the network's own topics have.
  private func makeTopics() -> (outcomes: [AppID: String], step: Step?) {
    do {
      let network = try NetworkTopics.shape(of: .requests, kafka)
      let made = try NetworkTopics(kafka: kafka, partitions: network.partitionCount).make(
        apps.map {
          Topic.responseSettings(for: $0, networkPartitions: network.partitionCount).kept(inCopies: network.copyCount)
        }, replicationFactor: network.copyCount)
      let texts = zip(apps, made).map { ($0, "\($1.topic) \($1.outcome), \($1.partitions) partitions") }
      return (Dictionary(texts) { first, _ in first }, nil)
    } catch {
      return (told("not made: \(error)"), { .topic(of: $0) })
    }
  }

  private func giveRights() -> (outcomes: [AppID: String], step: Step?) {
    if kafka.isEmbedded { return (told("not needed: the embedded broker has no access rules"), nil) }
    do throws(KafkaError) {
      let access = NetworkAccess(rights: apps.flatMap { BrokerRight.rights(of: .app($0)) }, names: names)
      let given = try access.apply(kafka, isExact: false)
      let texts = apps.map { app -> (AppID, String) in
        let rights = given.filter { $0.role == BrokerUser.app(app).role }
        let added = rights.count { $0.outcome == "added" }
        return (app, added == 0 ? "there" : "\(added) added")
      }
      return (Dictionary(texts) { first, _ in first }, nil)
    } catch {
      if error.kind == .noAccessRules { return (told("not needed: the brokers have no access rules"), nil) }
      return (told("not given: \(error)"), { .rights(of: $0) })
    }
  }

  private func told(_ outcome: String) -> [AppID: String] {
    Dictionary(apps.map { ($0, outcome) }) { first, _ in first }
  }
}
