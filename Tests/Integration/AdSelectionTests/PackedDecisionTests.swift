import AdCore
import AdEvents
import Foundation
import LocalProcesses
import Pipeline
import Postgres
import TestServices
import TestValues
import Testing

@testable import AdSelection
@testable import AdSelectionCore
@testable import Operations
@testable import PipelineHost
@testable import Runtime

@Suite("Decisions that lie many in one row")
struct PackedDecisionTests {
  private static let now = SystemClock().now
  private static let lowestID = "00000000-0000-0000-0000-000000000000"
  private static let highestID = "ffffffff-ffff-ffff-ffff-ffffffffffff"
  private static let sizes: [AdSize] = [.phoneBannerPortrait, .phoneBannerLandscape]

  /// What a batch decided `second` seconds after it began; no two of them are alike.
  ///
  /// - Parameters:
  ///   - idMilliseconds: how far ahead of the decision the client's clock was.
  ///   - change: of the decision, from what could be packed.
  private static func decided(
    _ number: UInt64, second: Int64 = 0, idMilliseconds: Int64 = 0, index: Int32? = nil,
    change: (inout Decision) -> Void = { _ in }
  ) -> DecidedRequest {
    let issued = Timestamp(milliseconds: (now.milliseconds / 1_000 + second) * 1_000 + Int64(number % 900))
    let isHouse = number % 5 == 1
    let terms = ServedTerms.sample(serve: number, partition: 3, issuedAt: issued) {
      $0.country = number % 3 == 0 ? known(Country("DE")) : $0.country
      $0.placement = known(PlacementID("place-\(number % 7)"))
      $0.size = sizes[Int(number % 2)]
      $0.device = number % 4 == 0 ? .pad : .phone
      $0.ad = known(AdID("ad-\(number % 11)"))
      ($0.allotment, $0.budgetDay) = (isHouse ? 0 : UInt64.max - number, Int32(20_000 + number))
      $0.clientHash = UInt64.max - 7 * number
    }
    let reservation = Reservation(
      allotment: terms.allotment, budgetDay: terms.budgetDay, amount: Nanos(1_000 + Int64(number)),
      usedAfterwards: AllotmentUse(total: .zero, forClicks: .zero))
    let serve = Serve(
      terms: terms, images: [ServedAd.Image(size: terms.size, url: "https://i.example/\(number % 3)")],
      action: AdAction(kind: .leave, destination: "https://shop.example/"), lifetimeMilliseconds: 600_000,
      reservation: isHouse ? nil : reservation, expectedValue: Int128(number) << 80)
    var counts = ReasonCounts()
    counts[nil] = Int32(number) + 2
    for reason in NoServeReason.allCases.prefix(Int(number % 3)) { counts[reason] = Int32(number) + 5 }
    var decision = Decision(
      outcome: .served(serve), reason: isHouse ? .servedHouse : .served,
      explanation: Explanation(counts, withoutAllotment: 0, hasWinner: true), size: terms.size,
      inputs: AuctionInputs(
        catalogChange: 12, paidAds: number % 6 == 0 ? .withheld : .served,
        requiredSizes: Array(sizes.prefix(1 + Int(number % 2))), segments: [], isInterstitial: number % 2 == 0))
    change(&decision)
    let request = AdRequest.sample(number, at: issued.advanced(byMilliseconds: idMilliseconds)) {
      $0.deadlineMilliseconds = 5_000 + Int64(number)
    }
    // Half of them by the edge, of which half from a network.
    let sight = EdgeSight(
      country: nil, agent: .app, isDataCentre: false, isKnownBot: number % 8 == 0,
      network: number % 4 == 0 ? nil : UInt32.max - UInt32(number))
    let asked = AskedRequest(
      LegibleRequest(request), clientHash: terms.clientHash, partition: 3,
      arrival: issued.advanced(byMilliseconds: 3 - Int64(number % 50)), sight: number % 2 == 0 ? sight : nil)
    return DecidedRequest(
      id: terms.serveID, asked: asked, decision: decision, outcome: .accepted, index: index ?? Int32(number))
  }

  private static func test(_ number: UInt64) -> DecidedRequest {
    decided(number) { ($0.isTest, $0.reason, $0.inputs) = (true, .servedTest, nil) }
  }

  /// Stores a batch as rows of their own, as packs, or in both forms.
  private func store(
    rows: [DecidedRequest] = [], packs: [ArraySlice<DecisionPacks.Packable>] = [], in connection: PostgresConnection
  ) throws {
    let terms = TermsBook(schema: "ad_selection")
    terms.begin()
    let tables = [
      DecisionRows.rows(rows, batchNumber: 8, rules: 5, terms: terms),
      DecisionPacks.rows(packs, batchNumber: 8, rules: 5, terms: terms),
    ]
    try terms.store(in: connection)
    for table in tables { try connection.copy(table) }
  }

  /// Takes clients out of all days: of each a 12th after the other.
  private static let forgetClients = """
    UPDATE sealed.head SET open_from = date_trunc('day', now(), 'UTC') + interval '2 days';
    SELECT public.forget_clients(part, since + hour * interval '1 hour', since + (hour + 2) * interval '1 hour', 1, 1)
    FROM unnest(ARRAY['ad_selection.decision_row', 'ad_selection.decision_pack']::regclass[]) AS parent,
      public.client_spans(parent, 'infinity'), generate_series(0, 22, 2) AS hour;
    """

  private func count(_ sql: String, _ connection: PostgresConnection) throws -> Int64 {
    try #require(try connection.query("SELECT count(*) FROM \(sql)").first).decode(0)
  }

  @Test("A pack tells of each decision whatever a row of its own would tell, and is found by all of its ids")
  func same() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    let decisions = (1...100).map { Self.decided(UInt64($0)) }
    let (packs, others) = DecisionPacks.split(decisions)
    #expect(packs.map(\.count).sorted() == [33, 33, 34] && others.isEmpty)
    try store(rows: decisions, packs: packs, in: connection)
    #expect(try count("ad_selection.decision_row", connection) == 100)
    let packed = "ad_selection.packed_decisions('\(Self.lowestID)', '\(Self.highestID)')"
    #expect(try count(packed, connection) == 100)
    for (left, right) in [("ad_selection.decision_row", packed), (packed, "ad_selection.decision_row")] {
      #expect(try count("(SELECT * FROM \(left) EXCEPT SELECT * FROM \(right)) AS other", connection) == 0)
    }
    // No column is alike in all of them by chance: what changed places would show.
    #expect(try count("(SELECT DISTINCT expected_value, deadline - arrival FROM \(packed)) AS one", connection) == 100)
    _ = try connection.query("DELETE FROM ad_selection.decision_row")
    for decided in decisions {
      let id = decided.id
      let found = try connection.query(
        "SELECT serve_id, batch_index FROM ad_selection.decisions($1, $1) WHERE partition = 3", [id])
      #expect(try found.map { try $0.decode(0, ServeID.self) } == [id])
      #expect(try found.map { try $0.decode(1, Int32.self) } == [decided.index])
    }
    let ids = decisions.map(\.id).sorted()
    #expect(
      try connection.query("SELECT FROM ad_selection.stored_decisions($1, $2)", [ids[10], ids[90]]).count == 81,
      "both ends included, across packs")
  }

  @Test("What came again is found by the ids of its decisions, in the tables of their days and no others")
  func earlier() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    let decisions = (1...100).map { Self.decided(UInt64($0)) }
    try store(packs: DecisionPacks.split(decisions).packs, in: connection)
    let statement = ReadEarlierDecisions(partition: 3, ids: decisions.map(\.id).reversed())
    #expect(Set(try connection.run(statement).map(\.id)) == Set(decisions.map(\.id)))
    let plan = try connection.query("EXPLAIN \(ReadEarlierDecisions.sql)", statement.parameters)
      .map { try $0.decode(0, String.self) }.joined(separator: "\n")
    // Of a partition that has more than one day.
    #expect(try count("public.day_tables('ad_selection.decision_pack')", connection) > 3)
    let tables = Set(plan.matches(of: /on (decision_(?:pack|row)_[0-9]{8})/).map { String($0.output.1) })
    let days = Set(tables.map { $0.suffix(8) })
    #expect(days.count == 1 && tables.count == 2, "\(plan)")
  }

  /// Requests, clients, apps and served ads of each network of today, as docs/operations.md asks for them, if few count, too.
  private func today(_ connection: PostgresConnection) throws -> [[Int64]] {
    let page = try String(contentsOfFile: PackageRoot.path("docs/operations.md"), encoding: .utf8)
    let blocks = page.components(separatedBy: "```sql\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
    let sql = try #require(blocks.first { $0.contains("edge_network") })
    return try connection.query(sql.replacing(">= 100", with: ">= 1").replacing(";", with: "")).map { row in
      try [1, 2, 3, 5].map { try row.decode($0) }
    }
  }

  @Test("What is added up of decisions is what they say, of those in rows and in packs, and of no others")
  func outcomes() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    let decisions = (1...60).map { Self.decided(UInt64($0)) }
    try store(rows: (61...65).map { Self.test($0) }, packs: DecisionPacks.split(decisions).packs, in: connection)
    let columns = "serve_id, partition, batch_number, expires_at, app, reason, is_test"
    let ranges = [(Self.lowestID, Self.highestID), ("\(decisions[20].id)", "\(decisions[39].id)")]
    for ((first, last), due) in zip(ranges, [65, 20] as [Int64]) {
      let (outcomes, all) = (
        "ad_selection.outcomes('\(first)', '\(last)')", "ad_selection.decisions('\(first)', '\(last)')"
      )
      #expect(try count(outcomes, connection) == due)
      let alike = "(SELECT \(columns) FROM \(outcomes) INTERSECT SELECT \(columns) FROM \(all)) AS alike"
      #expect(try count(alike, connection) == due)
    }
  }

  @Test(
    "A8: who is erased, and all once they are forgotten, leave no network behind, in packs and in rows of their own")
  func networks() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    let packed = (0..<40).map { Self.decided(4 * $0 + 2) }
    let single = (40..<60).map { Self.test(4 * $0 + 2) }
    let (packs, others) = DecisionPacks.split(packed + single)
    try store(rows: others, packs: packs, in: connection)
    #expect(try count("ad_selection.decision_row", connection) == 20)
    for decided in packed + single {
      let found = try connection.query(
        "SELECT edge_flags, edge_network FROM ad_selection.decisions($1, $1) WHERE partition = 3", [decided.id])
      let sight = try #require(decided.asked.sight)
      #expect(try found.map { try $0.decode(0, Int16.self) } == [17])
      #expect(try found.map { try $0.decode(1, Int32.self) } == [sight.network.map { Int32(bitPattern: $0) }])
    }
    #expect(try today(connection) == Array(repeating: [1, 1, 1, 1], count: 20), "of 40 live ones it shows 20")
    let hashes = [packed[7], single[3]].map { Int64(bitPattern: $0.asked.clientHash) }
    #expect(try connection.run(EraseClient(hashes: hashes, range: .everything)) == [2])
    let stored = "ad_selection.stored_decisions('\(Self.lowestID)', '\(Self.highestID)')"
    #expect(try count("\(stored) WHERE client_hash = 0 AND edge_network IS NULL", connection) == 2)
    #expect(try count("\(stored) WHERE client_hash <> 0 AND edge_network IS NOT NULL", connection) == 58)
    // Networks go, whether there is a client left or not.
    try connection.executeScript(
      """
      UPDATE ad_selection.decision_pack SET client_hashes = array_fill(0::bigint, ARRAY[cardinality(client_hashes)])
        WHERE serve_id = (SELECT min(serve_id::text)::uuid FROM ad_selection.decision_pack);
      """)
    try connection.executeScript(Self.forgetClients)
    #expect(try count("\(stored) WHERE client_hash <> 0 OR edge_network IS NOT NULL", connection) == 0)
    #expect(try count("\(stored) WHERE edge_flags = 17", connection) == 60)
  }

  @Test("The batch's row names the lowest and the highest serve id of packs, too")
  func bounds() throws {
    let (packs, _) = DecisionPacks.split((1...100).map { Self.decided(UInt64($0)) })
    let rows = DecisionPacks.rows(packs, batchNumber: 8, rules: 5, terms: TermsBook(schema: "ad_selection"))
    let ids = (1...100).map { Self.decided(UInt64($0)).id }
    rows.sortByServe()
    let keys = try #require(BatchKeys([rows], time: Self.now))
    #expect(keys.lowest == ids.min()?.postgres && keys.highest == ids.max()?.postgres)
    // Those of a batch are of one moment: what counts them again asks for no named ones.
    #expect(keys.keys.named.isEmpty)
  }

  @Test("What needs a column that packs do not have, and a batch of few, has rows of its own")
  func split() throws {
    let plain = (1...16).map { Self.decided(UInt64($0)) }
    let segments = Self.decided(20) { $0.inputs?.segments = ["chess"] }
    let refused = Self.decided(21) {
      ($0.outcome, $0.reason) = (.noAd(.inventoryUnavailable, .noEligibleAd), .noEligibleAd)
    }
    let late = Self.decided(22, index: 32_768)
    let others = [Self.test(19), segments, refused, late]
    let (packs, rows) = DecisionPacks.split(others + plain)
    #expect(packs.map { $0.map(\.decided) } == [plain] && rows == others)
    #expect(DecisionPacks.split(Array(plain.dropLast())).packs.isEmpty, "15 cost as much as rows")
    // Of one second and one catalogue each.
    let later = (31...46).map { Self.decided(UInt64($0), second: 1) }
    let changed = (51...66).map { Self.decided(UInt64($0)) { $0.inputs?.catalogChange = nil } }
    let apart = DecisionPacks.split(plain + later + changed).packs.map { $0.map(\.decided) }
    #expect(Set(apart) == [plain, later, changed])
    #expect(DecisionPacks.split(plain.dropLast() + later.prefix(1)).packs.isEmpty)
  }

  @Test("A request id is found wherever its client's clock stands: packs hold those within a minute of the decision")
  func requests() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    let near = (1...20).map { Self.decided(UInt64($0), idMilliseconds: $0 % 2 == 0 ? 59_999 : -59_999) }
    let far = [60_000, -60_000, 7_200_000].enumerated().map {
      Self.decided(UInt64(30 + $0.offset), idMilliseconds: $0.element)
    }
    let (packs, others) = DecisionPacks.split(near + far)
    #expect(packs.joined().map(\.decided) == near && others == far)
    try store(rows: others, packs: packs, in: connection)
    for decided in near + far {
      let range = Explain.range(around: decided.id.timestamp)
      #expect(try connection.run(FindRequest(requestID: decided.asked.requestID, range: range)) == [decided.id])
      let since = try connection.query(
        "SELECT FROM ad_selection.requests_since($1) WHERE request_id = $1", [decided.asked.requestID])
      #expect(since.count == 1)
    }
    let apart = ServeRange(from: 0, to: 1)
    #expect(try connection.run(FindRequest(requestID: near[0].asked.requestID, range: apart)).isEmpty)
  }

  @Test("I7: another owner answers packed requests as before; erasing and forgetting clients reaches into packs (A8)")
  func takenOver() async throws {
    let partition = try await SelectionPartition()
    let until = partition.clock.now.advanced(byMilliseconds: 60_000)
    try partition.grant([
      (1, partition.network.grant(1 << 63, amount: 9_000_000_000_000, until: until, day: partition.budgetDay))
    ])
    let requests = try (1...20).map { try partition.network.request(UInt64($0), at: partition.clock.now) }
    let answers = try partition.ask(requests)
    let database = partition.database
    #expect(try count("ad_selection.decision_pack", database) == 1)
    #expect(try count("ad_selection.decision WHERE reason = vocabulary.decision_reason('served')", database) == 20)
    try partition.restart()
    #expect(try partition.ask(requests) == answers)
    #expect(try count("ad_selection.decision", database) == 20)

    let client = try database.query("SELECT client_hashes[7], request_ids[7] FROM ad_selection.decision_pack")[0]
    let hash: Int64 = try client.decode(0)
    let erase = EraseClient(hashes: [hash], range: .everything)
    #expect(try database.run(erase) == [1] && database.run(erase) == [0])
    let erased = try database.query("SELECT request_id FROM ad_selection.decision WHERE client_hash = 0")
    #expect(try erased.map { try $0.decode(0, PostgresUUID.self) } == [client.decode(1, PostgresUUID.self)])
    #expect(try count("ad_selection.decision WHERE client_hash = \(hash)", database) == 0)

    try database.executeScript(Self.forgetClients)
    #expect(try count("ad_selection.decision WHERE client_hash <> 0", database) == 0)
    #expect(try count("ad_selection.decision", database) == 20)
  }
}
