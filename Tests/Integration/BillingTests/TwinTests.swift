import AdCore
import AdEvents
import BillingCore
import LocalProcesses
import Pipeline
import Postgres
import Simulation
import Synchronization
import TestValues
import Testing

@Suite("Billing in the database and its twin in the simulation")
struct TwinTests {
  @Test(
    "I4, I5: the same grants, draws, returns and ends give the same fates, budgets, allotments and journals",
    arguments: [UInt64(1), 3])
  func alike(seed: UInt64) async throws {
    let network = try await TestNetwork(funding: 6_000)
    try await onOwnThread {
      var race = try Race(network, seed: seed)
      while race.steps < 2_000 { try race.step() }
      // Everything ends.
      try race.pass(days: 200)
      try race.compare()
      let fates = Set(try network.accounts().fates.values.map { $0[0] })
      #expect(race.waited > 0, "nothing ever waited for budget")
      #expect(
        fates.isSuperset(of: [1, 2, 3, 5, 6]) && !fates.contains(4),
        "a race in which nothing happens proves nothing: \(fates)")
    }
  }

  @Test(
    "B4: a daily budget that is raised or cut leaves the days that are over in the advertiser's time zone as they are",
    arguments: [Int128(150), 50])
  func daysThatAreOver(daily: Int128) async throws {
    let network = try await TestNetwork(hour: 21, timeZone: "Europe/Berlin")
    try await onOwnThread {
      let tap = BatchTap()
      let partition = try BillingPartition(network) { batch in tap.batches.withLock { $0.append(batch) } }
      var twin = BudgetTwin()
      twin.fund(.record(.advertiser(network.advertiser), version: 1), now: network.clock.now)
      twin.fund(try network.fund(1_000, daily: 100), now: network.clock.now)
      try partition.process([partition.click(0, price: 60), partition.click(0, price: 30, daysAhead: 1)])
      for batch in tap.take() { _ = try twin.commit(batch) }
      // Half past eleven in the evening by UTC: in Berlin the next day has begun.
      network.clock.advance(byMilliseconds: 9_000_000)
      twin.fund(try network.fund(1_000, daily: daily, version: 2), now: network.clock.now)
      try partition.process([
        partition.click(0, price: 40), partition.click(0, price: 10), partition.click(0, price: 30, daysAhead: 1),
      ])
      for batch in tap.take() { _ = try twin.commit(batch) }
      func day(_ number: Int32) throws -> [Int128] {
        try network.numbers("SELECT requested, charged FROM treasury.campaign_day WHERE day = \(number)")
      }
      #expect(try day(network.today.number) == [100, 100])
      #expect(try day(network.today.number + 1) == [daily, daily == 150 ? 60 : 30])
      #expect(try network.accounts() == twin.accounts)
    }
  }
}

/// Two partitions of the real billing that spend the same budgets, and the twin that is given each of their batches.
private struct Race {
  private let network: TestNetwork
  private let partitions: [BillingPartition]
  private let batches: BatchTap
  /// How often something waited for budget when both were compared.
  private(set) var waited = 0
  private var twin: BudgetTwin
  private var numbers: SeededChance
  private var ordinals: [Int64] = [0, 0]
  private var version: Int64 = 1
  private var day: Int64 = 0
  private var batchCount = 0
  /// How much has happened.
  private(set) var steps = 0

  init(_ network: TestNetwork, seed: UInt64) throws {
    self.network = network
    numbers = SeededChance(seed: seed)
    let tap = BatchTap()
    batches = tap
    var settings = BillingSettings()
    settings.caps.clicksOfAdPerHour = 1_200
    settings.caps.impressionsPerHour = 1_000
    settings.caps.clicksBeforeRate = 1_000
    settings.caps.unfundedPerDay = Nanos(200)
    twin = BudgetTwin(caps: settings.caps)
    partitions = try [0, 1].map { number in
      try BillingPartition(network, Int32(number), settings: settings) { batch in
        tap.batches.withLock { $0.append(batch) }
      }
    }
    twin.fund(.record(.advertiser(network.advertiser), version: 1), now: network.now)
    twin.fund(try network.fund(4_000, daily: 3_000), now: network.now)
  }

  mutating func step() throws {
    let which = Int.random(in: 0...1, using: &numbers)
    var events: [BillingInput] = []
    for _ in 0..<Int.random(in: 1...30, using: &numbers) { events.append(try event(which)) }
    try partitions[which].process(events)
    steps += events.count
    try settle()
    if Int.random(in: 0..<6, using: &numbers) == 0 {
      version += 1
      let total = Int128.random(in: 0...8_000, using: &numbers)
      let daily = Bool.random(using: &numbers) ? Int128.random(in: 0...5_000, using: &numbers) : nil
      twin.fund(try network.fund(total, daily: daily, version: version), now: network.now)
      steps += 1
    }
    if Int.random(in: 0..<10, using: &numbers) == 0 {
      day += 1
      try pass(days: day)
    }
    batchCount += 1
    if batchCount.isMultiple(of: 5) { try compare() }
  }

  private mutating func event(_ which: Int) throws -> BillingInput {
    let partition = partitions[which]
    let allotment = partition.grants.suffix(6).randomElement(using: &numbers)?.allotment ?? 0
    switch Int.random(in: 0..<10, using: &numbers) {
    case 0:
      ordinals[which] += 1
      // Now and then an ordinal again.
      let ordinal = Bool.random(using: &numbers) ? ordinals[which] : max(1, ordinals[which] - 1)
      return try network.ask(ordinal, used: .random(in: 0...1_500, using: &numbers), fullPrice: 10, clickPrice: 7)
    case 1, 2:
      let used = Nanos(.random(in: 0...200, using: &numbers))
      let clicks = Nanos(.random(in: 0...used.value, using: &numbers))
      return .report(
        AllotmentReport(allotment: allotment, used: used, usedForClicks: clicks, closedAt: network.now))
    case 3...6: return try partition.click(allotment, price: .random(in: 0...60, using: &numbers))
    default: return try partition.impression(allotment, price: .random(in: 0...9, using: &numbers))
    }
  }

  /// So much later everything that was open is over.
  mutating func pass(days: Int64) throws {
    for partition in partitions {
      try partition.pass(network.now.advanced(byMilliseconds: days * 86_400_000))
      try settle()
    }
    steps += 1
  }

  /// Gives the twin what the database has had.
  private mutating func settle() throws {
    for batch in batches.take() { _ = try twin.commit(batch) }
  }

  mutating func compare() throws {
    let (real, twin) = (try network.accounts(), twin.accounts)
    try #require(real.levels == twin.levels)
    try #require(real.allotments == twin.allotments)
    try #require(real.fates == twin.fates)
    if real.fates.values.contains(where: { $0[0] == 4 }) { waited += 1 }
    try #require(real.postings == twin.postings)
  }
}

extension TestNetwork {
  /// What the tables hold, as the twin says it.
  fileprivate func accounts() throws -> BudgetTwin.Accounts {
    let connection = try connect()
    defer { connection.close() }
    var accounts = BudgetTwin.Accounts()
    for row in try connection.query(
      """
      SELECT advertiser || ' ' || currency, ARRAY[requested, funded, allotted, charged, waiting] FROM treasury.account
      UNION ALL SELECT campaign, ARRAY[requested, funded, allotted, charged, waiting] FROM treasury.campaign
      UNION ALL SELECT campaign || ' ' || day, ARRAY[requested, funded, allotted, charged, waiting]
        FROM treasury.campaign_day
      """)
    { accounts.levels[try row.decode(0)] = try row.decode(1) }
    for row in try connection.query(
      """
      SELECT id, ARRAY[partition, ordinal, granted, amount, charged, coalesce(used, -1), click_reserve,
        clicks_charged, campaign_free, state]
      FROM billing.allotment
      """)
    { accounts.allotments[try row.decode(0)] = try row.decode(1) }
    for row in try connection.query(
      """
      SELECT concat_ws(' ', serve_id, kind, id_hash), ARRAY[fate, developer_amount, network_amount] FROM billing.charge
      UNION ALL SELECT concat_ws(' ', serve_id, kind, id_hash), ARRAY[fate, 0, 0] FROM billing.waiting
      UNION ALL SELECT concat_ws(' ', serve_id, kind, id_hash), ARRAY[fate, 0, 0] FROM billing.held
      """
    ) { accounts.fates[try row.decode(0)] = try row.decode(1) }
    for row in try connection.query(
      """
      SELECT concat_ws(' ', batch_number, account, currency), ARRAY[sum(debit), sum(credit)]
      FROM billing.posting GROUP BY 1
      """)
    { accounts.postings[try row.decode(0)] = try row.decode(1) }
    return accounts
  }
}

/// Batches as they went to the database.
private final class BatchTap: Sendable {
  let batches = Mutex<[CommitBatch<BillingService>]>([])

  func take() -> [CommitBatch<BillingService>] {
    batches.withLock { batches in
      defer { batches = [] }
      return batches
    }
  }
}
