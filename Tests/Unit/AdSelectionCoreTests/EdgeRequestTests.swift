import AdCore
import AdEvents
import Records
import TestValues
import Testing

@testable import AdSelectionCore
@testable import Pipeline

@Suite("Requests that came by the edge")
struct EdgeRequestTests {
  private static let client = PartitionRig.clients[0]
  private static let sight = EdgeSight(
    country: Country("FR"), agent: .browser, isDataCentre: true, isKnownBot: false, network: 0xFEDC_BA98)

  /// A request as a record, read.
  ///
  /// - Parameters:
  ///   - topic: what `kafka_replyTopic` names.
  ///   - markedKey: the key that the mark was made for; nil for no mark.
  ///   - change: of the request.
  private func decoded(
    _ rig: PartitionRig, topic: String, markedKey: String?, change: (inout AdRequest) -> Void = { _ in }
  ) throws -> SelectionInput {
    var request = try rig.samples.request(Self.client).request
    request.appKey = "live"
    request.deadlineMilliseconds = 2_000
    change(&request)
    let (key, value) = (Array(request.clientKey.utf8), request.encoded())
    var headers = CloudEventHeaders(type: .adRequested, source: "/test").headers(id: "1", time: Samples.now)
    headers += CloudEventHeaders.reply(topic: topic, partition: 3, correlationID: [1, 2, 3])
    if let markedKey {
      let edge = try EdgeMark(ring: rig.ring)
      let mark = Array(markedKey.utf8).withUnsafeBytes { key in
        value.withUnsafeBytes { edge.make(Self.sight, key: key, value: $0, now: Samples.now) }
      }
      headers.append(RecordHeader("\(EdgeMark.headerName)", mark))
    }
    var decoder = try SelectionDecoder(ring: rig.ring)
    decoder.begin()
    for header in headers { header.withUnsafeBytes { decoder.header(name: $0, value: $1) } }
    return key.withUnsafeBytes { key in
      decoder.key(key)
      return value.withUnsafeBytes { decoder.decode(input: 0, value: $0, arrival: Samples.now).event }
    }
  }

  @Test(
    "under the edge's mark it is answered in the edge's topic, and its country is the edge's word, not the device's")
  func marked() throws {
    var rig = try PartitionRig.withTextKeys()
    let input = try decoded(rig, topic: Topic.edgeResponses, markedKey: "client-\(Self.client)")
    guard case .request(let incoming) = input, case .sound(let request) = incoming.content else {
      Issue.record("it is not read")
      return
    }
    #expect(request.country == Country("FR"))
    let batch = rig.run([input])
    #expect(batch.answers.map(\.topic) == ["ads.responses.edge"] && batch.answers.map(\.partition) == [3])
    #expect(batch.answers[0].headers.contains(RecordHeader("kafka_correlationId", [1, 2, 3])))
    #expect(batch.effects.decisions.map(\.asked.sight) == [Self.sight])
    #expect(batch.effects.decisions.map(\.asked.country) == [Country("FR")])
  }

  @Test(
    "without the mark, or with that of another client's request, nobody is answered there", arguments: [nil, "other"])
  func unmarked(markedKey: String?) throws {
    var rig = try PartitionRig.withTextKeys()
    let input = try decoded(rig, topic: Topic.edgeResponses, markedKey: markedKey)
    let batch = rig.run([input])
    #expect(batch.outcomes == [.rejected(.invalidReply)])
    #expect(batch.answers.map(\.topic) == ["ads.responses.weather"])
    #expect(batch.effects.decisions.map(\.asked.sight) == [nil])
  }

  @Test("the edge's word on the country stands in the row of a request with a mistake, too")
  func mistaken() throws {
    var rig = try PartitionRig.withTextKeys()
    let input = try decoded(rig, topic: Topic.edgeResponses, markedKey: "client-\(Self.client)") {
      $0.deadlineMilliseconds = 0
    }
    let batch = rig.run([input])
    #expect(batch.effects.decisions.map(\.decision.reason) == [.requestInvalid])
    #expect(batch.effects.decisions.map(\.asked.country) == [Country("FR")])
    #expect(batch.effects.decisions.map(\.asked.sight) == [Self.sight])
  }

  @Test("the edge's name is no app's, and the edge reads the catalogue and does not write it")
  func names() throws {
    #expect(App.sample("edge").isFaulty && !App.sample("edges").isFaulty)
    let rights = BrokerRight.rights(of: .edge)
    #expect(rights.contains { $0.resource == .topic("ads.catalog") && $0.operation == .read })
    #expect(!rights.contains { $0.resource == .topic("ads.catalog") && $0.operation == .write })
  }
}

extension App {
  /// Whether the catalogue refuses it for its id.
  fileprivate var isFaulty: Bool { !CatalogRecord.app(self).faults().filter { $0.field == "id" }.isEmpty }
}
