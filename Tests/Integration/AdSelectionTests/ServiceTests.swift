import AdCore
import AdEvents
import LocalProcesses
import Pipeline
import Postgres
import Records
import Runtime
import TestServices
import Testing

@testable import AdSelection

@Suite("The service on a broker and a database", .timeLimit(.minutes(10)))
struct ServiceTests {
  @Test(
    "once it has the catalogue it asks for budget, and answers a request that came to the wrong partition, whatever strangers write for it"
  )
  func answers() async throws {
    let url = try await TestDatabase.url()
    try await onOwnThread {
      let service = try RunningService(databaseURL: url)
      defer { service.stop() }
      try service.publishCatalog()
      try service.forge()
      let now = SystemClock().now
      let number = try #require((0..<50).first { KafkaPartition.of(key: "client-\($0)", count: 2) == 1 })
      // Only partition 1 has budget: it must be the one that decides.
      let ask = try service.find { message -> AllotmentAsk? in
        guard message.topic == Topic.usage.name, message.partition == 1,
          case .ask(let ask) = try ClientHeaders.decode(UsageRecord.self, message)
        else { return nil }
        return ask
      }
      let wanted = try #require(ask)
      #expect(wanted.ordinal == 1 && wanted.campaign == service.network.campaign.id)
      let grant = service.network.grant(
        3, amount: 9_000_000_000, until: now.advanced(byMilliseconds: 600_000), day: wanted.budgetDay)
      try service.grant(grant, partition: 1)
      try answersOnce(service, number: UInt64(number), at: now)
      #expect(service.metrics.exposition().contains(#"{outcome="rejected",reason="macWrong"} 3"#))
    }
    let database = try PostgresConnection(try PostgresConfiguration(url, applicationName: "test"))
    let forwarded = try database.query(
      "SELECT count(*) FROM ad_selection.batch WHERE position('\\x03' IN outcomes) > 0")
    #expect(try #require(forwarded.first).decode(0) == Int64(1))
    let served = try database.query(
      """
      SELECT count(*) FROM ad_selection.decision
      WHERE reason = vocabulary.decision_reason('served') AND partition = 1
      """)
    #expect(try #require(served.first).decode(0) == Int64(1))
  }

  /// Asks once the grant has arrived.
  private func answersOnce(_ service: RunningService, number: UInt64, at now: Timestamp) throws {
    let request = try service.network.request(number, at: now) {
      $0.deadlineMilliseconds = 60_000
      $0.replyPartition = 1
    }
    #expect(
      try service.wait(until: { service.metrics.exposition().contains("handbill_allotments_opened_total 1") }))
    try service.ask(request, partition: 0)
    let answer = try service.find { message -> (AdResponse, Int32)? in
      guard message.topic == Topic.responses(for: service.network.app.id) else { return nil }
      return (try ClientHeaders.decode(AdResponse.self, message), message.partition)
    }
    let (response, partition) = try #require(answer)
    #expect(response.requestID == request.requestID && partition == 1)
    guard case .ad(let ad) = response.outcome,
      case .valid(let terms) = try ServeTokenOpener(ring: service.network.ring).open(ad.token, now: now)
    else {
      Issue.record("\(response)")
      return
    }
    #expect(terms.partition == 1 && terms.campaign == service.network.campaign.id)
    #expect(service.health.isReady)
  }
}
