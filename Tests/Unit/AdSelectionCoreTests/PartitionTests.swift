import AdCore
import AdEvents
import Records
import Testing

@testable import AdSelectionCore
@testable import Pipeline

@Suite("A partition's requests")
struct PartitionTests {
  private let client = PartitionRig.clients[0]

  @Test("an ad is answered on the app's own topic with its token, echoing the correlation id")
  func answers() throws {
    var rig = try PartitionRig()
    rig.grantAll()
    let batch = rig.run([.request(try rig.incoming(client))])
    #expect(batch.outcomes == [.accepted])
    let message = try #require(batch.answers.first)
    #expect(message.topic == "ads.responses.weather")
    #expect(message.partition == 1)
    #expect(message.headers.contains(RecordHeader("kafka_correlationId", [1, 2, 3])))
    guard case .ad(let ad) = try PartitionRig.response(message).outcome else {
      Issue.record("no ad")
      return
    }
    let decided = try #require(batch.effects.decisions.first)
    let terms = try #require(decided.serve?.terms)
    #expect(try ServeTokenOpener(ring: rig.ring).open(ad.token, now: Samples.now) == .valid(terms))
    #expect(decided.id == terms.serveID)
    #expect(decided.id.timestamp == Samples.now)
    #expect(terms.partition == PartitionRig.partition)
    #expect(batch.effects.used == [1: try #require(decided.serve?.reservation?.usedAfterwards)])
  }

  @Test("the same request again gets the same token while its deadline runs, and is neither stored nor counted")
  func duplicates() throws {
    var rig = try PartitionRig()
    rig.grantAll()
    let request = SelectionInput.request(try rig.incoming(client))
    let first = rig.run([request])
    let again = rig.run([request], at: Samples.now.advanced(byMilliseconds: 1_500))
    #expect(again.outcomes == [.duplicate])
    #expect(again.answers.map(\.value) == first.answers.map(\.value))
    #expect(again.effects.decisions.isEmpty && again.effects.used.isEmpty)
    #expect(Array(rig.counts.values) == [1])
  }

  @Test("the same request again in one batch, and in several, is decided once; without its row it is decided anew")
  func duplicatesOfBatch() throws {
    var rig = try PartitionRig()
    rig.grantAll()
    let (one, two) = (SelectionInput.request(try rig.incoming(client)), try other(rig))
    let first = rig.run([one, two, one, two, one])
    #expect(first.outcomes.map { $0 == .duplicate } == [false, false, true, true, true])
    let values = first.answers.map(\.value)
    #expect(values == [values[0], values[1], values[0], values[1], values[0]] && values[0] != values[1])
    #expect(rig.run([two, one]).answers.map(\.value) == [values[1], values[0]])
    #expect(first.effects.decisions.count == 2 && rig.decider.state.recent.count == 2)
    rig.forget()
    #expect(rig.run([one]).outcomes != [.duplicate])
  }

  private func other(_ rig: PartitionRig) throws -> SelectionInput {
    let client = try #require(PartitionRig.clients.first { $0 != self.client })
    return .request(
      try rig.incoming(client) { $0.requestID = UUIDv7(timestamp: Samples.now, randomHigh: 7, randomLow: 7) })
  }

  @Test("what was read for a batch, and whom it answered, is nothing that the partition keeps")
  func keepsNothingOfABatch() throws {
    var rig = try PartitionRig()
    rig.grantAll()
    let topic = "ads.responses.\(try rig.incoming(client).reply.app)"
    let first = rig.run([.request(try rig.incoming(client))])
    #expect(first.answers.map(\.topic) == [topic])
    let decided = try #require(first.effects.decisions.first)
    guard let serve = decided.serve, let image = serve.images.first, var earlier = EarlierDecision(decided) else {
      Issue.record("nothing was served")
      return
    }
    let known = "https://images.example/known-to-the-last-batch"
    earlier.answer = .ad(
      Serve(
        terms: serve.terms, images: [ServedAd.Image(size: image.size, url: known)], action: serve.action,
        lifetimeMilliseconds: serve.lifetimeMilliseconds, reservation: nil))
    let id = serve.terms.serveID
    let repeated = rig.run([.request(try rig.incoming(client))], knowing: SelectionKnowledge([id: earlier]))
    guard case .ad(let ad)? = try repeated.answers.first.map(PartitionRig.response)?.outcome else {
      Issue.record("no ad was answered")
      return
    }
    #expect(ad.images.map(\.url) == [known])
    var contents = ""
    dump(rig.decider, to: &contents)
    #expect(contents.contains("\(serve.terms.campaign)"), "it would be seen")
    #expect(!contents.contains(known) && !contents.contains(topic))
  }

  @Test("a duplicate whose own deadline is over is not answered")
  func lateDuplicate() throws {
    var rig = try PartitionRig()
    rig.grantAll()
    _ = rig.run([.request(try rig.incoming(client))])
    let now = Samples.now.advanced(byMilliseconds: 2_001)
    let batch = rig.run([.request(try rig.incoming(client))], at: now, arrival: Samples.now)
    #expect(batch.outcomes == [.duplicate])
    #expect(batch.answers.isEmpty)
  }

  @Test("a request of another partition is forwarded there with a mark, and nothing is decided")
  func forwards() throws {
    var rig = try PartitionRig()
    let other = try #require((0..<100).first { !PartitionRig.clients.contains($0) })
    let incoming = try rig.incoming(other)
    let batch = rig.run([.request(incoming)])
    #expect(batch.outcomes == [.forwarded])
    #expect(batch.answers.isEmpty && batch.effects.decisions.isEmpty && rig.counts.isEmpty)
    let forward = try #require(batch.forwards.first)
    #expect(forward.topic == "ads.requests")
    #expect(forward.partition == incoming.partition(count: PartitionRig.partitionCount))
    let mark = try #require(forward.headers.first?.value)
    let isOurs = mark.withUnsafeBytes { mark in
      incoming.payload.withUnsafeBytes { payload in
        let marks = try? ForwardingMark(ring: rig.ring)
        return marks?.verifies(mark, payload: payload, partition: forward.partition, now: Samples.now)
      }
    }
    #expect(isOurs == true)
  }

  @Test("one request sent to the wrong partition again and again is sent on a few times, then rejected")
  func sentAstrayAgain() throws {
    var rig = try PartitionRig()
    let other = try #require((0..<100).first { !PartitionRig.clients.contains($0) })
    let incoming = try rig.incoming(other)
    let batch = rig.run(Array(repeating: .request(incoming), count: 50))
    let most = ForwardLimit.ofOneMaximum
    #expect(batch.forwards.count == most)
    #expect(batch.outcomes.suffix(50 - most).allSatisfy { $0 == .rejected(.forwardedTooOften) })
  }

  @Test("A1: what has no key of its app is sent on nowhere: it is refused where it lies, few are answered and kept")
  func strangersAreNotSentOn() throws {
    var rig = try PartitionRig()
    let others = (0..<100).filter { !PartitionRig.clients.contains($0) }
    let batch = rig.run(try others.map { .request(try rig.incoming($0, key: [9])) })
    #expect(batch.forwards.isEmpty)
    #expect(batch.answers.count == KeylessLimit.ofAppPerSecondMaximum)
    #expect(batch.outcomes.allSatisfy { $0 == .refused(.configurationError) })
  }

  @Test("a request forwarded here under our mark is decided here, whatever its hash says")
  func decidesForwarded() throws {
    var rig = try PartitionRig()
    rig.grantAll()
    let other = try #require((0..<100).first { !PartitionRig.clients.contains($0) })
    let mark = try mark(of: try rig.incoming(other), for: PartitionRig.partition, rig: rig)
    let batch = rig.run([.request(try rig.incoming(other, mark: mark))])
    #expect(batch.outcomes == [.accepted])
    #expect(batch.forwards.isEmpty)
  }

  @Test("a mark that is not ours, or is for another partition, counts for nothing", arguments: [true, false])
  func invalidMarks(isForged: Bool) throws {
    var rig = try PartitionRig()
    let other = try #require((0..<100).first { !PartitionRig.clients.contains($0) })
    var mark = try mark(of: try rig.incoming(other), for: isForged ? PartitionRig.partition : 0, rig: rig)
    if isForged { mark[5] ^= 1 }
    let batch = rig.run([.request(try rig.incoming(other, mark: mark))])
    #expect(batch.outcomes == [.forwarded])
  }

  private func mark(of incoming: IncomingRequest, for partition: Int32, rig: PartitionRig) throws -> [UInt8] {
    let marks = try ForwardingMark(ring: rig.ring)
    return incoming.payload.withUnsafeBytes { marks.mark(payload: $0, partition: partition, now: Samples.now) }
  }

  @Test(
    "M1: a request that is wrong about where its answer goes is answered, in the app's own topic and a partition it has"
  )
  func replies() throws {
    var rig = try PartitionRig()
    let requests = [
      try rig.incoming(client) { $0.replyTopic = "ads.responses.other" },
      try rig.incoming(client) { $0.replyPartition = PartitionRig.partitionCount },
    ]
    let batch = rig.run(requests.map(SelectionInput.request))
    #expect(batch.outcomes == [.rejected(.invalidReply), .rejected(.invalidReply)])
    #expect(batch.rejections.map(\.reason) == [.invalidReply, .invalidReply])
    // The second one is the same request again.
    #expect(batch.answers.map(\.topic) == ["ads.responses.weather", "ads.responses.weather"])
    #expect(batch.answers.map(\.partition) == [1, 0])
    // M1: it is a request all the same, counted once for its id.
    #expect(batch.effects.decisions.map(\.decision.reason) == [.requestInvalid])
    let own = try rig.incoming(PartitionRig.clients[1]) { $0.replyTopic = "ads.responses.weather" }
    #expect(rig.run([.request(own)]).answers.count == 1)
  }

  @Test("A1: an app that is not registered has no topic: its request is stored, counts for no app, and is not answered")
  func unregistered() throws {
    var rig = try PartitionRig()
    let stranger = try #require(AppID("stranger"))
    let batch = rig.run([.request(try rig.incoming(client, key: [9]) { $0.app = stranger })])
    #expect(batch.outcomes == [.refused(.configurationError)])
    #expect(batch.answers.isEmpty)
    #expect(batch.effects.decisions.map(\.decision.reason) == [.unknownKey])
    #expect(Array(rig.counts.keys) == [.withoutAppKey(day: 20_468, reason: .unknownKey)])
  }

  @Test("a request past its deadline is recorded, and no auction is held")
  func pastDeadline() throws {
    var rig = try PartitionRig()
    rig.grantAll()
    let request = try rig.incoming(client) { $0.deadlineMilliseconds = 10 }
    let now = Samples.now.advanced(byMilliseconds: 11)
    let batch = rig.run([.request(request)], at: now, arrival: Samples.now)
    #expect(batch.outcomes == [.pastDeadline])
    #expect(batch.effects.decisions.map(\.decision.reason) == [.deadlinePassed])
    #expect(batch.effects.decisions.first?.decision.explanation == .empty)
    #expect(batch.effects.used.isEmpty)
  }

  @Test("what the database refuses alone is answered with unknown, and leaves no row and no use")
  func refusedByDatabase() throws {
    var rig = try PartitionRig()
    rig.grantAll()
    let before = rig.decider.state
    let batch = rig.run([.request(try rig.incoming(client))], isRefused: true)
    #expect(batch.outcomes == [.refused(.unknown)])
    #expect(
      try PartitionRig.response(try #require(batch.answers.first)).outcome
        == .error(.unknown, detail: "the decision could not be stored"))
    #expect(batch.effects.decisions.isEmpty && batch.effects.used.isEmpty)
    #expect(rig.decider.state == before)
    #expect(rig.counts.isEmpty)
  }

  @Test("before the catalogue is complete every request gets serverFailure, and may be asked again")
  func incompleteCatalog() throws {
    let rig = try PartitionRig()
    let stale = Samples.now.advanced(byMilliseconds: 1_000)
    rig.catalog.apply([.message(.heartbeat(records: 99, versionSum: 99, at: stale))], now: stale)
    var late = rig
    let now = stale.advanced(byMilliseconds: 5_001)
    let request = SelectionInput.request(try late.incoming(client, at: now))
    #expect(late.run([request], at: now).outcomes == [.refused(.serverFailure)])
    late.beat(at: now)
    _ = late.run([.grant(Samples.grant(1, campaign: late.samples.campaigns[0].id))])
    #expect(late.run([request], at: now).outcomes == [.accepted])
  }
}
