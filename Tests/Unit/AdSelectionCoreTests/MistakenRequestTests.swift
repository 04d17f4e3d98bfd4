import AdCore
import AdEvents
import Records
import Testing

@testable import AdSelectionCore
@testable import Pipeline

@Suite("Requests with a mistake")
struct MistakenRequestTests {
  private let client = PartitionRig.clients[0]

  /// A mistake, as an integrator makes it: what is changed in the bytes of a sound request, the reason that the record is
  /// rejected for, and what the answer must say.
  struct Mistake: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reason: RejectionReason
    let says: [String]
    let write: @Sendable (inout WireWriter) -> Void

    init(
      _ name: String, _ reason: RejectionReason, says: [String], _ write: @escaping @Sendable (inout WireWriter) -> Void
    ) {
      testDescription = name
      self.reason = reason
      self.says = says
      self.write = write
    }
  }

  /// Of two values of one field the later counts: what is appended prevails. Lists are longer by it.
  static let mistakes: [Mistake] = [
    Mistake("a placement that is no slug", .invalidField, says: ["placement", "40", "a-z"]) {
      $0.text(4, "end of game")
    },
    Mistake("no placement", .missingField, says: ["placement"]) { $0.presentText(4, "") },
    Mistake("a country in lower case", .invalidField, says: ["country", "upper case"]) { $0.text(7, "us") },
    Mistake("a size that is none, beside another mistake", .invalidField, says: ["upper case", "nowhere"]) {
      $0.text(7, "us")
      $0.text(10, "nowhere")
    },
    Mistake("no country", .missingField, says: ["country"]) { $0.presentText(7, "") },
    Mistake("a deadline too long", .invalidField, says: ["deadline", "60000"]) { $0.unsigned(12, 60_001) },
    Mistake("no deadline", .missingField, says: ["deadline", "1 to 60000"]) { $0.presentUnsigned(12, 0) },
    Mistake("no session", .missingField, says: ["session_id"]) { $0.presentText(6, "") },
    Mistake("a session too long", .invalidField, says: ["session_id", "129", "128"]) {
      $0.text(6, String(repeating: "s", count: 129))
    },
    Mistake("an unknown device", .invalidField, says: ["device"]) { $0.presentUnsigned(8, 9) },
    Mistake("33 segments", .invalidField, says: ["segments", "32"]) { for _ in 0..<33 { $0.presentText(13, "s") } },
    Mistake("17 sizes", .invalidField, says: ["required_sizes", "16"]) {
      for _ in 0..<17 { $0.presentText(9, "portrait") }
    },
    Mistake("text that is none", .invalidText, says: ["current_size", "UTF-8"]) { $0.presentBytes(10, [0xFF]) },
    Mistake("a field of another type", .malformed, says: ["field 12"]) { $0.text(12, "5 s") },
    Mistake("a value too large", .tooLarge, says: ["16384"]) {
      $0.presentBytes(99, [UInt8](repeating: 1, count: 17_000))
    },
  ]

  private func decoded(
    _ rig: PartitionRig, _ client: UInt64, key: String = "live", headers: [RecordHeader]? = nil,
    change: (inout AdRequest) -> Void = { _ in }, append: (inout WireWriter) -> Void
  ) throws -> SelectionInput {
    var request = try rig.samples.request(client).request
    request.appKey = key
    request.deadlineMilliseconds = 2_000
    change(&request)
    var writer = WireWriter(output: request.encoded())
    append(&writer)
    var decoder = try SelectionDecoder(ring: rig.ring)
    decoder.begin()
    for header in headers ?? Self.headers(app: request.app) {
      header.withUnsafeBytes { decoder.header(name: $0, value: $1) }
    }
    return writer.output.withUnsafeBytes { decoder.decode(input: 0, value: $0, arrival: Samples.now).event }
  }

  static func headers(app: AppID, replyPartition: [UInt8] = [0, 0, 0, 1]) -> [RecordHeader] {
    CloudEventHeaders(type: .adRequested, source: "/test").headers(id: "1", time: Samples.now)
      + [
        RecordHeader("kafka_replyTopic", Topic.responses(for: app)),
        RecordHeader("kafka_replyPartition", replyPartition), RecordHeader("kafka_correlationId", [1, 2, 3]),
      ]
  }

  @Test(
    "M1: it is answered with what to change, stays rejected with its number, and counts once for its app",
    arguments: mistakes)
  func answered(mistake: Mistake) throws {
    var rig = try PartitionRig.withTextKeys()
    let input = try decoded(rig, client, append: mistake.write)
    let batch = rig.run([input])
    #expect(batch.outcomes == [.rejected(mistake.reason)])
    #expect(batch.rejections.map(\.reason) == [mistake.reason])
    let message = try #require(batch.answers.first)
    #expect(message.topic == "ads.responses.weather" && message.partition == 1)
    #expect(message.headers.contains(RecordHeader("kafka_correlationId", [1, 2, 3])))
    let response = try PartitionRig.response(message)
    #expect(response.requestID == (try rig.samples.request(client)).request.requestID)
    guard case .error(.configurationError, let detail) = response.outcome else {
      Issue.record("\(response)")
      return
    }
    for word in mistake.says { #expect(detail.contains(word), "\(detail)") }
    #expect(batch.effects.decisions.map(\.outcome) == [.rejected(mistake.reason)])
    // The device asks again: the same answer, and nothing is counted twice.
    let again = rig.run([input])
    #expect(again.outcomes == batch.outcomes && again.answers.map(\.value) == batch.answers.map(\.value))
    #expect(again.effects.decisions.isEmpty)
    let counts = rig.counts
    #expect(counts.values.reduce(0, +) == 1)
    let key = try #require(counts.keys.first?.ofApp)
    #expect(key.app.text == "weather" && key.reason == .requestInvalid && !key.isTest)
  }

  @Test("M1: with a test build's key it counts as test traffic, without the app's key for no app")
  func counted() throws {
    var rig = try PartitionRig.withTextKeys()
    let wrong = Self.mistakes[0].write
    let test = rig.run([try decoded(rig, client, key: "test", append: wrong)])
    #expect(test.effects.decisions.map(\.decision.isTest) == [true])
    for key in ["wrong", "", String(repeating: "k", count: 129)] {
      try rig.restart()
      let stranger = rig.run([try decoded(rig, PartitionRig.clients[1], key: key, append: wrong)])
      #expect(stranger.effects.decisions.map(\.decision.reason) == [.unknownKey])
      let answer = try PartitionRig.response(try #require(stranger.answers.first))
      guard case .error(.configurationError, let detail) = answer.outcome else {
        Issue.record("\(answer)")
        return
      }
      #expect(detail.hasPrefix("A1") && detail.contains(key.count > 128 ? "app_key" : "placement") || key.isEmpty)
    }
    #expect(rig.counts.keys.compactMap(\.ofApp).map(\.isTest) == [true])
  }

  @Test("what is refused before its sizes matter counts in its size, as far as that can be read")
  func sizes() throws {
    var rig = try PartitionRig.withTextKeys()
    func size(
      _ client: Int, key: String = "live", change: (inout AdRequest) -> Void = { _ in },
      append: (inout WireWriter) -> Void = { _ in }
    ) throws -> AdSize? {
      let input = try decoded(rig, PartitionRig.clients[client], key: key, change: change, append: append)
      return try #require(rig.run([input]).effects.decisions.first).decision.size
    }
    let wrong = Self.mistakes[0].write
    #expect(
      try size(0, change: { ($0.device, $0.requiredSizes) = (.phone, []) }, append: wrong) == .phoneBannerPortrait)
    let landscape: (inout AdRequest) -> Void = {
      ($0.device, $0.requiredSizes, $0.currentSize) = (.pad, ["portrait", "landscape"], "landscape")
    }
    #expect(try size(1, change: landscape, append: wrong) == .padBannerLandscape)
    // Without the app's key it is refused at the door.
    #expect(try size(2, key: "wrong", change: landscape) == .padBannerLandscape)
    #expect(try size(3, change: landscape) { $0.presentUnsigned(8, 9) } == nil)
    #expect(try size(4, change: landscape) { $0.presentBytes(10, [0xFF]) } == nil)
    #expect(try size(5, change: landscape) { for _ in 0..<17 { $0.presentText(9, "portrait") } } == nil)
    #expect(try size(6, change: { $0.requiredSizes = ["huge"] }, append: wrong) == nil)
  }

  @Test("what lacks an envelope, or says no content type, is answered as well")
  func envelopes() throws {
    var rig = try PartitionRig.withTextKeys()
    let all = Self.headers(app: try #require(AppID("weather")))
    for (number, name) in ["ce_id", "ce_source", "ce_specversion", "ce_type", "content-type"].enumerated() {
      let headers = all.filter { $0.name != Array(name.utf8) }
      let batch = rig.run([try decoded(rig, PartitionRig.clients[number], headers: headers) { _ in }])
      #expect(batch.outcomes == [.rejected(name == "content-type" ? .unknownContentType : .invalidEnvelope)])
      let answer = try PartitionRig.response(try #require(batch.answers.first))
      guard case .error(.configurationError, let detail) = answer.outcome else {
        Issue.record("\(answer)")
        continue
      }
      #expect(detail.contains(name))
    }
  }

  @Test("an answer goes only where an answer may go: to the first partition where the named one is none")
  func replies() throws {
    var rig = try PartitionRig.withTextKeys()
    let weather = try #require(AppID("weather"))
    let wrong = Self.mistakes[0].write
    for (number, partition) in [[0, 0, 0, 99], [1, 2], [0xFF, 0, 0, 0]].enumerated() as EnumeratedSequence<[[UInt8]]> {
      let headers = Self.headers(app: weather, replyPartition: partition)
      let batch = rig.run([try decoded(rig, PartitionRig.clients[number], headers: headers, append: wrong)])
      #expect(batch.answers.map(\.partition) == [0] && batch.effects.decisions.count == 1)
    }
    let stranger = try #require(AppID("stranger"))
    let unregistered = try decoded(rig, PartitionRig.clients[4], change: { $0.app = stranger }, append: wrong)
    #expect(rig.run([unregistered]).answers.isEmpty)
    let elsewhere = try decoded(
      rig, PartitionRig.clients[5], headers: Self.headers(app: stranger), append: wrong)
    #expect(rig.run([elsewhere]).answers.map(\.topic) == [Topic.responses(for: weather)])
  }

  @Test("it belongs to its client's partition; where nobody can say which, it is decided where it lies")
  func partitions() throws {
    var rig = try PartitionRig.withTextKeys()
    let other = try #require((0..<100).first { !PartitionRig.clients.contains($0) })
    let wrong = Self.mistakes[0].write
    #expect(rig.run([try decoded(rig, other, append: wrong)]).outcomes == [.forwarded])
    let long = try decoded(rig, other) { $0.text(5, String(repeating: "c", count: 129)) }
    #expect(rig.run([long]).outcomes == [.rejected(.invalidField)])
    let nobody = try decoded(rig, other, change: { $0.clientID = "" }, append: { $0.presentText(6, "") })
    #expect(rig.run([nobody]).outcomes == [.rejected(.missingField)])
  }

  @Test("what has no legible request id or app is rejected, and nothing else")
  func illegible() throws {
    var rig = try PartitionRig.withTextKeys()
    let inputs = [
      try decoded(rig, client) { $0.presentBytes(1, []) }, try decoded(rig, client) { $0.presentText(3, "") },
    ]
    for input in inputs {
      // The first value of the field was sound; what comes last counts.
      let batch = rig.run([input])
      #expect(batch.answers.isEmpty && batch.effects.decisions.isEmpty)
      #expect(batch.outcomes == [.rejected(.missingField)])
    }
  }

  @Test("what the database refuses stays rejected for its own reason, is answered, and leaves no row")
  func refusedByDatabase() throws {
    var rig = try PartitionRig.withTextKeys()
    let batch = rig.run([try decoded(rig, client, append: Self.mistakes[0].write)], isRefused: true)
    #expect(batch.outcomes == [.rejected(.invalidField)])
    #expect(batch.answers.count == 1 && batch.effects.decisions.isEmpty)
    #expect(rig.counts.isEmpty)
  }
}
