import AdCore
import Crypto
import JSON
import LocalProcesses
import Postgres
import TestServices
import Testing

@testable import Operations

@Suite("Explanations")
struct ExplainTests {
  /// A click that repeats the counted one, and one that the network pays; as the services write them.
  private static let more = """
    UPDATE ad_selection.decision SET candidates = 4, outbid = 1, excluded_reasons = '{5,10}', excluded_counts = '{1,2}',
      expected_value = 12345000000, catalog_change = 17, rules = -5, paid_ads = vocabulary.paid_ads_state('served'),
      required_sizes = (1 << vocabulary.ad_size('320x50')) | (1 << vocabulary.ad_size('300x250')),
      segments = '{hikers}', is_interstitial = false, batch_index = 3,
      edge_flags = 1 | 2 | 4 | (vocabulary.agent_class('browser') << 4), edge_network = -2;
    INSERT INTO click_tracking.click (serve_id, id_hash, partition, batch_number, sequence, verdict, was_parked, event_time,
      arrival, expires_at, app, developer, advertiser, campaign, ad, placement, country, device, size, impression_price,
      click_price, currency, share_basis_points, allotment, budget_day, client_hash, is_test)
    SELECT serve_id, 10, partition, batch_number, 2, 2, true, '2030-01-01 00:03:00.250Z', arrival, expires_at, app, developer,
      advertiser, campaign, ad, placement, country, device, size, impression_price, click_price, currency,
      share_basis_points, allotment, budget_day, client_hash, is_test FROM click_tracking.click;
    INSERT INTO billing.charge (serve_id, kind, id_hash, partition, batch_number, event_time, fate, price, allotment,
      budget_day, share_basis_points, app, developer, advertiser, campaign, ad, placement, country, device, size, currency)
    SELECT serve_id, kind, 10, partition, batch_number, event_time + interval '1 s', 18, price, allotment, budget_day,
      share_basis_points, app, developer, advertiser, campaign, ad, placement, country, device, size, currency
    FROM billing.charge WHERE kind = vocabulary.charge_kind('click');
    UPDATE billing.charge SET fate = vocabulary.charge_fate('unfunded') WHERE kind = vocabulary.charge_kind('impression');
    INSERT INTO impression_tracking.delivery VALUES ('\(ReconciliationTests.serve)', 1, NULL, 0, 1, '2030-01-01Z', 'app',
      'camp', 'ad', 'home', 'US', 1, 1, false);
    """

  private func explain(_ asked: [String], day: Timestamp? = nil, after script: String) async throws
    -> [ServeExplanation]
  {
    let pool = try await TestDatabase.pool()
    return try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in try connection.executeScript(script) }
      return try asked.map { try Explain(pool).explain(try #require(ExplainSubject.read($0)), around: day) }
    }
  }

  @Test("B5: a served ad is explained from its decision to the ledger, in fields with names")
  func fields() async throws {
    let found = try await explain([ReconciliationTests.serve], after: ReconciliationTests.served + Self.more)
    let json = try #require(found.first).json
    #expect(json["isServed"] == true && json["serveId"] == .text(ReconciliationTests.serve))
    #expect(json["requestId"] == .text(ReconciliationTests.serve))
    let decision = try #require(json["decision"])
    #expect(decision["reason"] == "served" && decision["rule"] == "B1")
    #expect(decision["device"] == "phone" && decision["size"] == "320x50" && decision["action"] == "cover")
    #expect(decision["arrival"] == "2030-01-01T00:00:00Z" && decision["budgetDay"] == "2010-01-02")
    #expect(decision["allotment"] == "5" && decision["expectedValue"] == "0.000012345")
    #expect(
      decision["excluded"] == [
        ["reason": "countryNotTargeted", "rule": "A6", "ads": 1],
        ["reason": "appCategoryNotTargeted", "rule": "A6", "ads": 2],
      ])
    #expect(decision["catalogChange"] == 17 && decision["rules"] == "-5" && decision["paidAds"] == "served")
    #expect(decision["requiredSizes"] == ["320x50", "300x250"] && decision["segments"] == ["hikers"])
    #expect(decision["isInterstitial"] == false && decision["batchIndex"] == 3)
    #expect(
      decision["edge"]
        == ["country": "US", "agent": "browser", "isDataCentre": true, "isKnownBot": false, "network": "fffffffe"])
    #expect(decision["images"] == [["size": "320x50", "url": "u"]])
    #expect(json["impression"]?["impressionPrice"] == "0.01")
    #expect(json["delivery"]?.elements?.map { $0["kind"] } == ["rendered"])
    let clicks = json["clicks"]?.elements ?? []
    #expect(clicks.map { $0["verdict"] } == ["billable", "repeat"] && clicks.map { $0["rule"] } == ["M2", "M4"])
    #expect(clicks.last?["eventTime"] == "2030-01-01T00:03:00.250Z" && clicks.last?["wasParked"] == true)
    let charges = json["charges"]?.elements ?? []
    #expect(charges.map { $0["kind"] } == ["impression", "click", "click"])
    #expect(charges.map { $0["fate"] } == ["unfunded", "charged", "free"])
    #expect(charges.map { $0["rule"] } == ["B4", "B1", "M4"])
    #expect(charges.map { $0["verdict"] } == [.null, .null, "repeat"])
    #expect(charges.map { $0["amount"] } == ["0.00", "2.00", "0.00"])
    #expect(json["postings"]?.elements?.count == 3 && json["allotment"]?["state"] == "open")
    #expect(json["batches"]?.elements?.first?["inputs"]?.elements?.first?["nextOffset"] == 3)
    // No prose in any field, and no code without a name: only the public errors are numbers.
    let words = json.compactText
    #expect(!words.contains(": free") && !words.contains("excluded_reasons") && !words.contains("(M"))
  }

  @Test("for people it is sentences, with no bare code")
  func sentences() async throws {
    let found = try await explain([ReconciliationTests.serve], after: ReconciliationTests.served + Self.more)
    let text = try #require(found.first).text
    for sentence in [
      "a paid ad was served (B1).",
      "It came by the edge, from a browser: a trusted proxy places it in US; its address is a data centre's; it is in no list "
        + "of bots; its network is called fffffffe on that day.",
      "The auction was held on the catalogue after its change 17; paid ads were served; required sizes: 320x50, 300x250; "
        + "segments: hikers.",
      "Ads looked at: 4; outbid: 1; not eligible: 1 (not for the country (A6)), 2 (not for",
      "An impression costs USD 0.01, a click USD 2.00; 60.00 % goes to developer dev (B2).",
      "It was seen at 2030-01-01T00:01:00Z", "The device told of 2030-01-01T00:00:00Z: it began to be drawn.",
      "it counts (M2).", "it is free: another tap on the same ad had come before (M4). It waited for the view, or",
      "Of the price of the impression, USD 0.01: no budget could pay it, so the network bears it (B4): the advertiser pays "
        + "USD 0.00, the developer gets USD 0.006, the network USD -0.006.",
      "Of the price of the click, USD 2.00: it is charged (B1): the advertiser pays USD 2.00",
      "It was sold from allotment 5 of campaign camp",
      "advertiser:adv is debited USD 2.01; developer:dev is credited USD 1.206",
      "impression-tracking committed its batch 1 of partition 0",
    ] { #expect(text.contains(sentence), "\(sentence)\n\(text)") }
    #expect(!text.contains("_") && !text.contains("expected") && !text.contains("reason"))
  }

  @Test("what came by the edge is said to, however little it saw; of what did not, nothing is said of it")
  func edge() async throws {
    let bare = "UPDATE ad_selection.decision SET edge_flags = 1 | 8, edge_network = NULL;"
    let served = ReconciliationTests.served
    let found = try await explain([ReconciliationTests.serve], after: served + bare)
    let edge = try #require(found.first?.json["decision"]?["edge"])
    #expect(
      edge == ["country": .null, "agent": "unknown", "isDataCentre": false, "isKnownBot": true, "network": .null])
    #expect(
      found.first?.text.contains(
        "It came by the edge, from a program that does not say what it is: no trusted proxy said where; its address is in no "
          + "list of data centres; it is a known bot; its network is not known.") == true)
    let row: JSONValue = ["edge_flags": .integer(1 | 4 << 4), "edge_network": .integer(255), "country": "DE"]
    #expect(StoredSight(row)?.json["network"] == "000000ff" && StoredSight(row)?.json["agent"] == "unknown")
    let without = try #require(try await explain([ReconciliationTests.serve], after: served).first)
    #expect(without.json["decision"]?["edge"] == .null && !without.text.contains("edge"))
  }

  @Test("A7: withheld paid ads are explained by the standing of then, also where the decision names no catalogue")
  func standing() async throws {
    let withheld = """
      UPDATE ad_selection.decision SET paid_ads = vocabulary.paid_ads_state('withheld'), catalog_change = NULL;
      INSERT INTO catalog.history (key, version, body, is_deleted, changed_at, change_number)
      SELECT 'standing/app', version, jsonb_build_object('app', 'app', 'offerPartsPerMillion', version * 100000), version = 2,
        '2029-12-30Z'::timestamptz + version * interval '1 day', 10 + version FROM generate_series(0, 4) AS version;
      """
    let served = ReconciliationTests.served
    let found = try await explain([ReconciliationTests.serve], after: served + withheld)
    #expect(found.first?.json["standing"]?["offerPartsPerMillion"] == 100_000)
    #expect(found.first?.json["standing"]?["since"] == "2029-12-31T00:00:00Z")
    // It came before that change and was decided after it.
    let named = "UPDATE ad_selection.decision SET catalog_change = 13;"
    let later = try await explain([ReconciliationTests.serve], after: served + withheld + named)
    #expect(later.first?.json["standing"]?["offerPartsPerMillion"] == 300_000)
  }

  /// A request of each reason, and the same id decided twice.
  private static let refused = """
    INSERT INTO ad_selection.partition (partition) VALUES (0);
    SELECT public.keep_days('ad_selection.decision_row'::regclass, '2025-07-24', 1, 1, 400000);
    SELECT public.keep_days('impression_tracking.failure'::regclass, '2025-07-24', 1, 1, 400000);
    INSERT INTO ad_selection.decision (serve_id, partition, app, placement, country, device, client_hash, is_test,
      batch_number, request_id, arrival, deadline, outcome, reason, error, detail, candidates, outbid, excluded_reasons,
      excluded_counts)
    SELECT format('01983b0a-%s-7000-8000-000000000001', to_hex(4096 + reason))::uuid, 0, 'app', 'home', 'US', 1, 77, false,
      1, format('01983b0a-%s-7000-8000-00000000aaaa', to_hex(4096 + reason))::uuid, '2025-07-24Z', '2025-07-24 00:00:10Z',
      1, reason, 3, NULL, 2, 0, '{5}', '{2}'
    FROM generate_series(5, 41) AS reason WHERE vocabulary.decision_reason_name(reason::smallint) IS NOT NULL
      AND reason <> vocabulary.decision_reason('requestInvalid');
    INSERT INTO ad_selection.decision (serve_id, partition, app, placement, country, device, client_hash, is_test,
      batch_number, request_id, arrival, deadline, outcome, reason, error, detail, candidates, outbid, excluded_reasons,
      excluded_counts)
    SELECT '01983b1f-0000-7000-8000-000000000001', 0, app, placement, country, device, 77, false, 2, request_id, arrival,
      deadline, 1, reason, error, NULL, 0, 0, '{}', '{}' FROM ad_selection.decision
      WHERE reason = vocabulary.decision_reason('noEligibleAd');
    INSERT INTO impression_tracking.failure VALUES ('01983b0a-1021-7000-8000-00000000aaaa', 5, 0, 1,
      '2025-07-24 00:01Z', 'app', 'home');
    """

  @Test("each refused or unfilled request is found by its request id, with why in words")
  func reasons() async throws {
    let numbers = [5] + Array(16...23) + Array(32...41)
    let asked = numbers.map { "01983b0a-\(String(4_096 + $0, radix: 16))-7000-8000-00000000aaaa" }
    let found = try await explain(asked, after: Self.refused)
    for (number, explanation) in zip(numbers, found) {
      let meaning = StoredMeaning.decisionReason(Int64(number))
      #expect(explanation.isKnown && !explanation.isServed, "\(number)")
      #expect(explanation.json["decision"]?["reason"] == .text(meaning.name) && meaning.name != "unknown", "\(number)")
      #expect(explanation.json["decision"]?["errorName"] == "inventoryUnavailable")
      #expect(explanation.text.contains(meaning.text), "\(number)")
      // Only an app that is registered has a topic for answers.
      let isAppUnsure = [16, 18, 19].contains(number)
      #expect(explanation.text.contains("Its answer is inventoryUnavailable (E3)\(isAppUnsure ? ", where" : ".")"))
      #expect(!explanation.text.contains("tap"), "nothing is said of what an unserved ad cannot have")
    }
    let twice = try #require(found.first { $0.json["decision"]?["reason"] == "noEligibleAd" })
    #expect(twice.serveID?.description == "01983b1f-0000-7000-8000-000000000001")
    #expect(twice.json["otherServeIds"] == ["01983b0a-1021-7000-8000-000000000001"])
    #expect(twice.json["toldErrors"]?.elements?.map { $0["errorName"] } == ["bannerVisibleWithoutContent"])
    #expect(twice.text.contains("the device told bannerVisibleWithoutContent (E5) at 2025-07-24T00:01:00Z"))
  }

  @Test("a request id is looked for in the days around its own time, or around the day that is named")
  func days() async throws {
    let id = "01983b0a-1010-7000-8000-00000000aaaa"
    // The client's clock was three days ahead.
    let script =
      Self.refused + "UPDATE ad_selection.decision SET request_id = '01984a7c-1010-7000-8000-00000000aaaa' "
      + "WHERE request_id = '\(id)';"
    let asked = ["01984a7c-1010-7000-8000-00000000aaaa"]
    #expect(try await explain(asked, after: script).map(\.isKnown) == [false])
    let day = try #require(Timestamp(utcText: "2025-07-24T15:00:00Z"))
    #expect(try await explain(asked, day: day, after: script).map(\.isKnown) == [true])
    let range = Explain.range(around: day)
    #expect(Timestamp(milliseconds: range.from).utcText == "2025-07-22T00:00:00Z")
    #expect(Timestamp(milliseconds: range.to).utcText == "2025-07-27T00:00:00Z")
    let missed = try #require(try await explain(asked, after: "").first).text
    #expect(missed.contains("no request id decided from 2025-07-25T00:00:00Z to 2025-07-30T00:00:00Z"), "\(missed)")
    for extreme in [UInt64(0x7000), 0xFFFF_FFFF_FFFF_7000] {
      let id = try #require(UUIDv7(high: extreme, low: 0x8000_0000_0000_0000))
      let range = Explain.range(around: id.timestamp)
      #expect(range.from >= 0 && range.to >= range.from && range.to <= ServeRange.everything.to)
    }
  }

  @Test("a request id's decisions are found by an index of the few days that are asked for")
  func plan() async throws {
    let pool = try await TestDatabase.pool()
    let id = try #require(UUIDv7("01983b0a-1010-7000-8000-00000000aaaa"))
    let lines = try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in
        try connection.executeScript(
          """
          SELECT public.keep_days('ad_selection.decision_row'::regclass, '2025-07-24', 5, 30, 400000);
          SELECT public.keep_days('ad_selection.decision_pack'::regclass, '2025-07-24', 5, 30, 400000);
          INSERT INTO ad_selection.decision_row (serve_id, partition, app, placement, country, device, client_hash, is_test,
            batch_number, request_id, arrival, deadline, outcome, reason, error, candidates, outbid, excluded_reasons,
            excluded_counts)
          SELECT format('01983b0a-%s-7000-8000-00000000%s', lpad(to_hex(n / 10), 4, '0'), lpad(to_hex(n % 10), 4, '0'))::uuid,
            0, 'app', 'home', 'US', 1, 77, false, 1,
            format('01983b0a-%s-7000-8000-0000aaaa%s', lpad(to_hex(n / 10), 4, '0'), lpad(to_hex(n % 10), 4, '0'))::uuid,
            '2025-07-24Z', '2025-07-24Z', 1, 33, 3, 0, 0, '{}', '{}' FROM generate_series(1, 20000) AS n;
          SELECT brin_summarize_new_values('ad_selection.decision_row_20250724_request_id_idx');
          ANALYZE ad_selection.decision_row;
          """)
        let find = FindRequest(requestID: id, range: Explain.range(around: id.timestamp))
        return try connection.query("EXPLAIN " + FindRequest.sql, find.parameters).map { row throws(PostgresError) in
          try row.decode(0, String.self)
        }
      }
    }
    let days = Set(lines.flatMap { $0.matches(of: /decision_row_(2025\d{4})/).map { String($0.output.1) } })
    #expect(days == ["20250722", "20250723", "20250724", "20250725", "20250726"])
    #expect(lines.contains { $0.contains("Bitmap Index Scan on decision_row_20250724_request_id_idx") }, "\(lines)")
    let packs = Set(
      lines.flatMap { $0.matches(of: /using decision_pack_(2025\d{4})_pkey/).map { String($0.output.1) } })
    #expect(packs == ["20250724"], "within a minute of the request id's time: \(lines)")
    #expect(
      !lines.contains { $0.contains("Seq Scan on decision_row_20250724") || $0.contains("using decision_row_20250724") }
    )
  }

  @Test("a serve's charges are found by the indexes of its day alone, those from an id on by those of the days since")
  func chargePlan() async throws {
    let pool = try await TestDatabase.pool()
    func days(_ range: String) async throws -> Set<String> {
      let lines = try await onOwnThread {
        try pool.withConnection { connection throws(PostgresError) in
          try connection.query("EXPLAIN SELECT * FROM billing.charges(\(range)) WHERE partition = 0").map {
            row throws(PostgresError) in try row.decode(0, String.self)
          }
        }
      }
      return Set(lines.flatMap { $0.matches(of: /(charge_(row|pack)_\d{8})( |$)/).map { String($0.output.1) } })
    }
    try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in
        for table in ["row", "pack"] {
          _ = try connection.query(
            "SELECT public.keep_days('billing.charge_\(table)'::regclass, '2025-07-24', 5, 5, 400000)")
        }
      }
    }
    let id = "'01983b0a-1010-7000-8000-00000000aaaa'"
    #expect(try await days("\(id), \(id)") == ["charge_row_20250724", "charge_pack_20250724"])
    let since = try await days("\(id), public.first_uuid_at('infinity')")
    #expect(since.isSuperset(of: ["charge_row_20250724", "charge_pack_20250729"]))
    #expect(!since.contains("charge_row_20250723") && !since.contains("charge_pack_20250723"))
  }

  @Test("ids and tokens are read as they stand in JSON, in either alphabet, with or without padding")
  func subjects() throws {
    let id = try #require(UUIDv7("0197e4a2-8c1b-7d3e-bf00-3a5b7c9dfeff"))
    let bytes =
      stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: id.high >> UInt64($0)) }
      + stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: id.low >> UInt64($0)) }
    let text = Base64.encode(bytes)
    #expect(text.contains("+") || text.contains("/"))
    let web = text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    for form in [id.description, id.description.uppercased(), text, web] {
      #expect(ExplainSubject.read(form) == .id(id), "\(form)")
    }
    let token = [UInt8(2), 0, 7] + bytes + [UInt8](repeating: 9, count: 120)
    #expect(ExplainSubject.read(Base64.encode(token)) == .token(id, token))
    let wrong = [
      "", "x", Base64.encode(Array(token.prefix(60))), Base64.encode([1] + Array(token.dropFirst())),
      Base64.encode(bytes.map { _ in 0 }), String(repeating: "A", count: 5_000), "0197e4a2-8c1b-4d3e-9f00-3a5b7c9d1eff",
    ]
    for form in wrong { #expect(ExplainSubject.read(form) == nil, "\(form)") }
  }
}
