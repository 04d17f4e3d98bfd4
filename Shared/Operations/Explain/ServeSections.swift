internal import AdCore

/// What is read for the explanation of a request or served ad: one statement for each section, whose answer is one JSON
/// object for each row. `$1` is the serve id.
enum ServeSections {
  struct Section: Sendable {
    /// Its member of the JSON.
    let name: String
    /// What its rows are, in the plural; empty where there is at most one: then its member is an object or null, else a
    /// list.
    var noun = ""
    let sql: String
    /// How many rows there are, without the limit; empty where there is at most one.
    var countSQL = ""
    /// Columns whose numbers stand for something.
    var meanings: [String: @Sendable (Int64) -> StoredMeaning] = [:]

    var isSingle: Bool { countSQL.isEmpty }
  }

  /// The most rows of a list that are told, the first ones: whoever has a token can tell of its ad as often as he
  /// likes.
  static let rowsMaximum = 200

  /// Rows of one kind.
  private struct Source {
    /// A statement without order and limit.
    let rows: String
    /// What is told of a row `r`.
    var told = "to_jsonb(r)"
  }

  /// A list of the first rows of some sources together. Each source is cut before anything is made of its rows.
  private static func list(
    _ name: String, _ noun: String, of sources: [Source], by order: String,
    meanings: [String: @Sendable (Int64) -> StoredMeaning] = [:]
  ) -> Section {
    let first = "ORDER BY \(order) LIMIT \(rowsMaximum)"
    let parts = sources.map { source in
      "(SELECT \(source.told) AS told, \(order) FROM (\(source.rows) \(first)) AS r)"
    }
    let counts = sources.map { "(SELECT count(*) FROM (\($0.rows)) AS r)" }
    return Section(
      name: name, noun: noun, sql: "SELECT told FROM (\(parts.joined(separator: " UNION ALL "))) AS parts \(first)",
      countSQL: "SELECT " + counts.joined(separator: " + "), meanings: meanings)
  }

  private static let places: [String: @Sendable (Int64) -> StoredMeaning] = [
    "device": StoredMeaning.device, "size": StoredMeaning.size, "error": StoredMeaning.error,
  ]

  private static func places(
    and meanings: [String: @Sendable (Int64) -> StoredMeaning]
  ) -> [String: @Sendable (Int64) -> StoredMeaning] { places.merging(meanings) { _, own in own } }

  static let all = [
    Section(
      name: "decision",
      sql: """
        SELECT to_jsonb(d) - 'outcome' - 'expected_value' || jsonb_build_object('expected_value', d.expected_value::text)
        FROM ad_selection.decisions($1, $1) d WHERE partition = $2
        """,
      meanings: places(and: [
        "reason": StoredMeaning.decisionReason, "action": StoredMeaning.action, "paid_ads": StoredMeaning.paidAds,
      ])),
    Section(
      name: "standing",
      // In force when it was decided (A7). What was held was between two changes where it names none: then time says it.
      sql: """
        SELECT jsonb_build_object('app', h.body ->> 'app', 'offer_parts_per_million', h.body -> 'offerPartsPerMillion',
          'stopped', h.body -> 'stopped', 'tapped', h.body -> 'tapped', 'since', h.changed_at)
        FROM ad_selection.decisions($1, $1) d, catalog.history h
        WHERE d.partition = $2 AND d.paid_ads = \(PaidAdsState.withheld.number)
          AND h.key = 'standing/' || d.app AND NOT h.is_deleted
          AND CASE WHEN d.catalog_change IS NULL THEN h.changed_at <= d.arrival ELSE h.change_number <= d.catalog_change END
        ORDER BY h.version DESC LIMIT 1
        """),
    Section(
      name: "impression",
      sql: "SELECT to_jsonb(i) FROM impression_tracking.impression i WHERE serve_id = $1 AND partition = $2",
      meanings: places),
    list(
      "delivery", "tellings of how it was drawn",
      of: [Source(rows: "SELECT * FROM impression_tracking.deliveries($1, $1) WHERE serve_id = $1 AND partition = $2")],
      by: "event_time, kind", meanings: places(and: ["kind": StoredMeaning.deliveryKind])),
    list(
      "clicks", "taps", of: [Source(rows: "SELECT * FROM click_tracking.click WHERE serve_id = $1 AND partition = $2")],
      by: "sequence",
      meanings: places(and: ["verdict": StoredMeaning.verdict])),
    list(
      "parkedClicks", "taps without a verdict",
      of: [Source(rows: "SELECT * FROM click_tracking.parked WHERE serve_id = $1 AND partition = $2")],
      by: "batch_number, record_offset", meanings: places),
    list(
      "stoppedActions", "stopped actions",
      of: [Source(rows: "SELECT * FROM click_tracking.stopped_action WHERE serve_id = $1 AND partition = $2")],
      by: "event_time", meanings: places(and: ["kind": StoredMeaning.stoppedKind])),
    list(
      "conversions", "conversions",
      of: [Source(rows: "SELECT * FROM click_tracking.conversion WHERE serve_id = $1 AND partition = $2")],
      by: "event_time",
      meanings: ["kind": StoredMeaning.conversionKind]),
    list(
      "charges", "charges",
      of: [
        Source(rows: "SELECT * FROM billing.charges($1, $1) WHERE serve_id = $1 AND partition = $2"),
        Source(rows: "SELECT * FROM billing.waiting WHERE serve_id = $1 AND partition = $2"),
        Source(
          rows: "SELECT * FROM billing.held WHERE serve_id = $1 AND partition = $2",
          told: "to_jsonb(r) - 'hour' - 'reason'"),
      ], by: "kind, event_time", meanings: places(and: ["kind": StoredMeaning.chargeKind, "fate": StoredMeaning.fate])),
    list(
      "suspense", "events in suspense",
      of: [Source(rows: "SELECT * FROM billing.suspense WHERE serve_id = $1 AND partition = $2")], by: "kind, sequence",
      meanings: places(and: ["kind": StoredMeaning.chargeKind])),
    Section(
      name: "allotment",
      sql: """
        SELECT to_jsonb(a) FROM billing.allotment a
        WHERE partition = $2
          AND id = (SELECT allotment FROM ad_selection.stored_decisions($1, $1) WHERE partition = $2)
        """,
      meanings: ["state": StoredMeaning.allotmentState]),
    list(
      "postings", "postings of the journals that hold its charges",
      of: [
        Source(
          rows: """
            SELECT * FROM billing.posting WHERE partition = $2 AND batch_number IN (
              SELECT batch_number FROM billing.charges($1, $1)
              WHERE serve_id = $1 AND partition = $2 AND (amount > 0 OR developer_amount > 0))
            """,
          told: "to_jsonb(r) || jsonb_build_object('debit', r.debit::text, 'credit', r.credit::text)")
      ], by: "batch_number, account"),
    list("batches", "batches", of: [batches], by: "committed_at, service"),
  ]

  /// Errors that a device told of a request that got no ad (E1, E5, E6). `$1` is the request id.
  static let toldErrors = list(
    "toldErrors", "told errors", of: [Source(rows: ReadToldErrors.rows)],
    by: "arrival, error", meanings: places)

  private static let seen = [
    ("ad_selection", "stored_decisions($1, $1)"), ("impression_tracking", "impression_row"),
    ("impression_tracking", "stored_deliveries($1, $1)"), ("click_tracking", "click_row"),
    ("click_tracking", "parked_row"),
    ("click_tracking", "stopped_action"), ("click_tracking", "conversion"), ("billing", "stored_charges($1, $1)"),
    ("billing", "waiting_row"),
    ("billing", "held_row"),
  ].map { service, rows in
    "SELECT '\(service)' AS service, partition, batch_number FROM \(service).\(rows) "
      + "WHERE serve_id = $1 AND partition = $2"
  }.joined(separator: " UNION ")

  /// The batch rows behind the sections above, with their inputs' offsets.
  private static let batches = Source(
    rows: """
      WITH seen AS (
        \(seen)
      ), batches AS (
        SELECT 'ad_selection' AS service, * FROM ad_selection.batch
        UNION ALL SELECT 'impression_tracking', * FROM impression_tracking.batch
        UNION ALL SELECT 'click_tracking', * FROM click_tracking.batch
        UNION ALL SELECT 'billing', * FROM billing.batch
      )
      SELECT b.* FROM batches b JOIN seen s USING (service, partition, batch_number)
      """,
    told: """
      jsonb_build_object('service', replace(r.service, '_', '-'), 'partition', r.partition,
        'batch_number', r.batch_number, 'committed_at', r.committed_at,
        'inputs', (SELECT coalesce(jsonb_agg(jsonb_build_object('topic', i.topic,
          'firstOffset', i.first_offset, 'nextOffset', i.next_offset) ORDER BY i.topic), '[]')
          FROM unnest(r.input_topics, r.first_offsets, r.next_offsets) AS i (topic, first_offset, next_offset)
          WHERE i.next_offset > i.first_offset))
      """)
}
