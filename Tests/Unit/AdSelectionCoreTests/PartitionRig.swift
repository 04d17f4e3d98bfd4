import AdCore
import AdEvents
import Crypto
import Records
import TestValues
import Testing

@testable import AdSelectionCore
@testable import Pipeline

/// Numbers that a decider and its successor after a restart draw from one after the other.
final class SharedGenerator: RandomNumberGenerator {
  private var generator: SeededChance

  init(seed: UInt64) { generator = SeededChance(seed: seed) }
  func next() -> UInt64 { generator.next() }
}

/// One partition with a small network, run batch by batch; keeps what a database would.
struct PartitionRig {
  typealias Batch = BatchDecision<SelectionEffects>

  static let partitionCount: Int32 = 4
  static let partition: Int32 = 2

  let samples: Samples
  let catalog = CatalogSource()
  let ring: KeyRing
  let settings: SelectionSettings
  let random = SharedGenerator(seed: 1)
  var decider: SelectionDecider
  var stored = StoredState()
  private var earlier: [ServeID: EarlierDecision] = [:]
  /// What was counted.
  var counts: [SelectionCountKey: Int64] = [:]
  var number: Int64 = 0
  var nextSequence: Int64 = 1
  private var nextOffset: Int64 = 0

  init(_ samples: Samples? = nil, settings: SelectionSettings = SelectionSettings()) throws {
    self.samples = try samples ?? Samples()
    self.settings = settings
    ring = try KeyRing(keys: [try KeyRing.Key(id: 1, secret: [UInt8](repeating: 7, count: 32))])
    decider = SelectionDecider(
      stored: StoredState(), catalog: catalog, settings: settings, crypto: try SelectionCrypto(ring: ring),
      random: random)
    beat(at: Samples.now)
  }

  /// A network whose keys are those of the texts `live` and `test`, with allotments.
  static func withTextKeys() throws -> PartitionRig {
    var samples = try Samples()
    samples.keys[0].keyHash = SHA256.hash("live".utf8)
    samples.keys[1].keyHash = SHA256.hash("test".utf8)
    var rig = try PartitionRig(samples)
    rig.grantAll()
    return rig
  }

  /// The catalogue with its heartbeat.
  func beat(at now: Timestamp) {
    let state = samples.catalog
    let records = samples.records.map { CatalogSource.Item.message(.record($0, version: 1)) }
    catalog.apply(
      records + [
        .message(.heartbeat(records: state.recordCount, versionSum: state.versionSum, at: now))
      ], now: now)
  }

  /// A new decider from what was stored.
  mutating func restart() throws {
    decider = SelectionDecider(
      stored: stored, catalog: catalog, settings: settings, crypto: try SelectionCrypto(ring: ring), random: random)
  }

  /// The numbers of clients that belong to this partition.
  static let clients: [UInt64] = (0..<400).filter {
    KafkaPartition.of(key: "client-\($0)", count: partitionCount) == partition
  }

  func incoming(
    _ client: UInt64, key: [UInt8] = Samples.liveKey, at arrival: Timestamp = Samples.now, mark: [UInt8] = [],
    change: (inout AdRequest) -> Void = { _ in }
  ) throws -> IncomingRequest {
    let arrived = try samples.request(client, key: key, arrival: arrival) {
      $0.replyPartition = 1
      $0.correlationID = [1, 2, 3]
      change(&$0)
    }
    return IncomingRequest(
      content: .sound(arrived.request), appKeyHash: key, clientHash: client,
      payload: [UInt8](arrived.request.clientID.utf8), isJSON: false, mark: mark)
  }

  /// Decides a batch at `now`, which is also when its records arrived unless said otherwise, and stores its effects as
  /// the tables do.
  ///
  /// - Parameter knowledge: what the tables tell; nil for what is stored.
  mutating func run(
    _ events: [SelectionInput], at now: Timestamp = Samples.now, arrival: Timestamp? = nil, isRefused: Bool = false,
    knowing knowledge: SelectionKnowledge? = nil
  ) -> Batch {
    number += 1
    let records = events.map { event in
      nextOffset += 1
      let isRequest = if case .request = event { true } else { false }
      return InputRecord(
        input: isRequest ? 0 : 1, offset: nextOffset, timestamp: 0, arrival: arrival ?? now, sequence: .unnumbered,
        event: event,
        contentHash: 0, raw: RawRange(start: 0, keyCount: -1, valueCount: -1, headersCount: 0))
    }
    let context = context(at: now, isRefused: isRefused)
    let batch = decider.decide(
      records, knowing: knowledge ?? decider.query(for: records, context: context).map(lookUp), context: context)
    nextSequence += Int64(batch.messages.count)
    store(batch.effects)
    return batch
  }

  /// As if no row had been stored.
  mutating func forget() { earlier = [:] }

  private func lookUp(_ query: SelectionQuery) -> SelectionKnowledge {
    SelectionKnowledge(earlier.filter { query.ids.contains($0.key) })
  }

  func context(at now: Timestamp, isRefused: Bool = false) -> BatchContext {
    BatchContext(
      partition: PartitionRig.partition, partitionCount: PartitionRig.partitionCount, now: now, batchNumber: number,
      nextSequences: [nextSequence], committedWatermark: Timestamp(milliseconds: 0),
      watermark: Timestamp(milliseconds: 0), consumedWatermarks: [], refusal: isRefused ? "no table takes it" : nil,
      isDuplicateSuspected: false)
  }

  private mutating func store(_ effects: SelectionEffects) {
    stored.allotments += effects.opened.map(\.row)
    for index in stored.allotments.indices {
      if let used = effects.used[stored.allotments[index].allotment] {
        stored.allotments[index].used = used.total
        stored.allotments[index].usedForClicks = used.forClicks
      }
      if let closed = effects.closed.first(where: { $0.row.allotment == stored.allotments[index].allotment }) {
        stored.allotments[index].closedAt = closed.row.closedAt
      }
    }
    stored.decisions += effects.decisions.map(StoredDecision.init)
    for decided in effects.decisions { earlier[decided.id] = EarlierDecision(decided) }
    AdSelection.count(effects, into: &counts)
    for decided in effects.decisions where decided.decision.reason.countsForTestSequence {
      let day = TestSequence.day(of: decided.id.timestamp)
      if stored.testDay != day { (stored.testDay, stored.testRequests) = (day, [:]) }
      stored.testRequests[decided.asked.clientHash, default: 0] += 1
    }
  }

  /// An ample allotment for each campaign.
  mutating func grantAll() {
    for (index, campaign) in samples.campaigns.enumerated() where campaign.kind != .house {
      _ = run([.grant(Samples.grant(UInt64(index + 1), campaign: campaign.id))])
    }
  }

  static func response(_ message: OutgoingMessage) throws -> AdResponse {
    var headers = RecordHeaders()
    for header in message.headers {
      headers.add(header)
    }
    return try (message.value ?? []).withUnsafeBytes { try AdResponse.decode(value: $0, headers: headers).get() }
  }
}
