import AdCore
import AdEvents
import AdSelectionCore
import Crypto
import Kafka
import Pipeline
import Records
import TestValues

/// Decisions per second in process, on one thread: requests decoded, decided among a thousand campaigns, tokens signed
/// and answers made, as for a partition's batches; beside signing the tokens alone, without which no ad is served.
struct DecisionBenchmark {
  static let campaigns = 1_000
  static let requests = 200_000
  static let batchRecords = 200
  private static let headers = Workload.headers(.adRequested, id: UUIDv7(timestamp: now, randomHigh: 0, randomLow: 0))
  private static let key = "bench-distribution-key"
  private static let now = Timestamp(milliseconds: 1_790_000_000_000)
  private static let day: Int64 = 86_400_000

  func run() throws -> [BenchmarkResult] {
    progress("deciding in process")
    let ring = try KeyRing(configuration: Surroundings.keys)
    let service = try AdSelection(ring: ring)
    let catalog = try Self.catalog()
    var decider = SelectionDecider(
      stored: StoredState(), catalog: catalog, settings: SelectionSettings(), crypto: try SelectionCrypto(ring: ring),
      random: SeededChance(seed: 1))
    var decoder = try service.makeDecoder()
    var grants: [SelectionInput] = []
    for number in 0..<Self.campaigns { grants.append(.grant(try Self.grant(number))) }
    _ = decider.decide(Self.records(grants), knowing: nil, context: Self.context())
    let payloads = (0..<Self.requests).map { Self.request($0).encoded() }
    var served = 0
    let time = seconds {
      for start in stride(from: 0, to: payloads.count, by: Self.batchRecords) {
        let batch = payloads[start..<min(start + Self.batchRecords, payloads.count)]
        let inputs = batch.map { Self.decode($0, with: &decoder) }
        let decision = decider.decide(Self.records(inputs), knowing: nil, context: Self.context())
        served += decision.effects.decisions.count { $0.serve != nil }
        _ = decider.committed(CommitResult())
      }
    }
    let rate = Double(Self.requests) / time
    return [
      BenchmarkResult(
        "decisions in process, \(Self.campaigns) campaigns", rate, "decisions/s",
        limit: ("tokens signed", try signingRate(ring))),
      BenchmarkResult("decisions in process, served", Double(served) / Double(Self.requests) * 100, "%"),
    ]
  }

  private func signingRate(_ ring: KeyRing) throws -> Double {
    var workload = try Workload(partitions: 1, ring: ring, seed: 1)
    guard let terms = workload.terms(issuedAt: Self.now) else { return .nan }
    var bytes = 0
    let time = seconds { for _ in 0..<Self.requests { bytes += workload.token(terms).count } }
    return bytes > 0 ? Double(Self.requests) / time : .nan
  }

  private static func decode(_ payload: [UInt8], with decoder: inout SelectionDecoder) -> SelectionInput {
    decoder.begin()
    for header in headers {
      header.withUnsafeBytes { decoder.header(name: $0, value: $1) }
    }
    return payload.withUnsafeBytes { decoder.decode(input: 0, value: $0, arrival: now).event }
  }

  private static func records(_ inputs: [SelectionInput]) -> [InputRecord<SelectionInput>] {
    inputs.enumerated().map { offset, event in
      InputRecord(
        input: 0, offset: Int64(offset), timestamp: 0, arrival: now, sequence: .unnumbered, event: event,
        contentHash: 0,
        raw: RawRange(start: 0, keyCount: -1, valueCount: -1, headersCount: 0))
    }
  }

  private static func context() -> BatchContext {
    BatchContext(
      partition: 0, partitionCount: 1, now: now, batchNumber: 1, nextSequences: [1], committedWatermark: now,
      watermark: now, consumedWatermarks: [], isDuplicateSuspected: false)
  }

  private static func request(_ number: Int) -> AdRequest {
    AdRequest.sample(UInt64(number), at: now) {
      ($0.appKey, $0.app, $0.sessionID) = (key, known(AppID("bench")), $0.clientID)
    }
  }

  private static func grant(_ number: Int) throws -> AllotmentGrant {
    AllotmentGrant(
      allotment: UInt64(number + 1), ordinal: 1, campaign: known(CampaignID("camp-\(number)")),
      budgetDay: Int32(now.milliseconds / day), amount: Nanos(1_000_000_000_000_000),
      serveUntil: now.advanced(byMilliseconds: 3_600_000), clickRates: ClickRateBounds(others: 43_590))
  }

  private static func catalog() throws -> CatalogSource {
    let advertiser = Advertiser.sample { $0.accountFunding = 1_000_000_000_000_000_000 }
    let app = App.sample("bench") { $0.categories = [] }
    var records: [CatalogRecord] = [
      .settings(NetworkSettings(countries: [known(Country("US"))])), .advertiser(advertiser), .app(app),
      .appKey(AppKey(app: app.id, build: .distribution, keyHash: SHA256.hash(key.utf8))),
    ]
    for number in 0..<campaigns {
      let campaign = Campaign.sample("camp-\(number)", of: advertiser.id) {
        $0.impressionPrice = Nanos(10_000_000 + Int64(number % 97))
        $0.totalBudget = 1_000_000_000_000_000_000
        $0.flightStart = now.advanced(byMilliseconds: -day)
        $0.flightEnd = now.advanced(byMilliseconds: day)
      }
      records += [.campaign(campaign), .ad(.sample("ad-\(number)", of: campaign.id))]
    }
    let source = CatalogSource()
    let heartbeat = CatalogMessage.heartbeat(records: Int64(records.count), versionSum: Int64(records.count), at: now)
    source.apply(
      records.map { .message(.record($0, version: 1)) } + [.message(heartbeat)], now: now)
    return source
  }
}
