internal import AdCore

/// What is read for the explanation of a request or served ad: one statement for each section, whose answer is one JSON
/// object for each row. `$1` is the serve id.
enum ServeSections {
  struct Section: Sendable {
    /// Its member of the JSON.
    let name: String
    /// Whether there is at most one row: then it is an object or null, else a list.
    var isSingle = false
    let sql: String
    /// Columns whose numbers stand for something.
    var meanings: [String: @Sendable (Int64) -> StoredMeaning] = [:]
  }

  private static let places: [String: @Sendable (Int64) -> StoredMeaning] = [
    "device": StoredMeaning.device, "size": StoredMeaning.size, "error": StoredMeaning.error,
  ]

  private static func places(
    and meanings: [String: @Sendable (Int64) -> StoredMeaning]
  ) -> [String: @Sendable (Int64) -> StoredMeaning] { places.merging(meanings) { _, own in own } }

  static let all = [
    Section(
      name: "decision", isSingle: true,
      sql: """
        SELECT to_jsonb(d) - 'outcome' - 'expected_value' || jsonb_build_object('expected_value', d.expected_value::text)
        FROM ad_selection.decisions($1, $1) d WHERE partition = $2
        """,
      meanings: places(and: [
        "reason": StoredMeaning.decisionReason, "action": StoredMeaning.action, "paid_ads": StoredMeaning.paidAds,
      ])),
    Section(
      name: "standing", isSingle: true,
      // In force when it was decided (A7).
      sql: """
        SELECT jsonb_build_object('app', h.body ->> 'app', 'offer_parts_per_million', h.body -> 'offerPartsPerMillion',
          'stopped', h.body -> 'stopped', 'tapped', h.body -> 'tapped', 'since', h.changed_at)
        FROM ad_selection.decisions($1, $1) d, catalog.history h
        WHERE d.partition = $2 AND d.paid_ads = \(PaidAdsState.withheld.number)
          AND h.key = 'standing/' || d.app AND h.change_number <= coalesce(d.catalog_change, h.change_number)
        ORDER BY h.version DESC LIMIT 1
        """),
    Section(
      name: "impression", isSingle: true,
      sql: "SELECT to_jsonb(i) FROM impression_tracking.impression i WHERE serve_id = $1 AND partition = $2",
      meanings: places),
    Section(
      name: "delivery",
      sql: """
        SELECT to_jsonb(d) FROM impression_tracking.delivery d WHERE serve_id = $1 AND partition = $2
        ORDER BY event_time, kind
        """,
      meanings: places(and: ["kind": StoredMeaning.deliveryKind])),
    Section(
      name: "clicks",
      sql: "SELECT to_jsonb(c) FROM click_tracking.click c WHERE serve_id = $1 AND partition = $2 ORDER BY sequence",
      meanings: places(and: ["verdict": StoredMeaning.verdict])),
    Section(
      name: "parkedClicks",
      sql: """
        SELECT to_jsonb(p) FROM click_tracking.parked p WHERE serve_id = $1 AND partition = $2
        ORDER BY batch_number, record_offset
        """,
      meanings: places),
    Section(
      name: "stoppedActions",
      sql: """
        SELECT to_jsonb(s) FROM click_tracking.stopped_action s WHERE serve_id = $1 AND partition = $2 ORDER BY event_time
        """,
      meanings: places(and: ["kind": StoredMeaning.stoppedKind])),
    Section(
      name: "conversions",
      sql:
        "SELECT to_jsonb(v) FROM click_tracking.conversion v WHERE serve_id = $1 AND partition = $2 ORDER BY event_time",
      meanings: ["kind": StoredMeaning.conversionKind]),
    Section(
      name: "charges",
      sql: """
        SELECT fate FROM (
          SELECT to_jsonb(c) AS fate, kind, event_time FROM billing.charges($1, $1) c WHERE serve_id = $1 AND partition = $2
          UNION ALL SELECT to_jsonb(w), kind, event_time FROM billing.waiting w WHERE serve_id = $1 AND partition = $2
          UNION ALL SELECT to_jsonb(h) - 'hour' - 'reason', kind, event_time FROM billing.held h
            WHERE serve_id = $1 AND partition = $2
        ) AS fates ORDER BY kind, event_time
        """,
      meanings: places(and: ["kind": StoredMeaning.chargeKind, "fate": StoredMeaning.fate])),
    Section(
      name: "suspense",
      sql: "SELECT to_jsonb(s) FROM billing.suspense s WHERE serve_id = $1 AND partition = $2 ORDER BY kind, sequence",
      meanings: places(and: ["kind": StoredMeaning.chargeKind])),
    Section(
      name: "allotment", isSingle: true,
      sql: """
        SELECT to_jsonb(a) FROM billing.allotment a
        WHERE partition = $2
          AND id = (SELECT allotment FROM ad_selection.stored_decisions($1, $1) WHERE partition = $2)
        """,
      meanings: ["state": StoredMeaning.allotmentState]),
    Section(
      name: "postings",
      sql: """
        SELECT to_jsonb(p) || jsonb_build_object('debit', p.debit::text, 'credit', p.credit::text) FROM billing.posting p
        WHERE partition = $2 AND batch_number IN (SELECT batch_number FROM billing.charges($1, $1)
          WHERE serve_id = $1 AND partition = $2 AND (amount > 0 OR developer_amount > 0)) ORDER BY batch_number, account
        """),
    Section(name: "batches", sql: batches),
  ]

  /// Errors that a device told of a request (``ReadToldErrors``).
  static let toldErrors = Section(name: "toldErrors", sql: ReadToldErrors.sql, meanings: places)

  private static let seen = [
    ("ad_selection", "stored_decisions($1, $1)"), ("impression_tracking", "impression_row"),
    ("impression_tracking", "delivery_row"), ("click_tracking", "click_row"), ("click_tracking", "parked_row"),
    ("click_tracking", "stopped_action"), ("click_tracking", "conversion"), ("billing", "stored_charges($1, $1)"),
    ("billing", "waiting_row"),
    ("billing", "held_row"),
  ].map { service, rows in
    "SELECT '\(service)' AS service, partition, batch_number FROM \(service).\(rows) "
      + "WHERE serve_id = $1 AND partition = $2"
  }.joined(separator: " UNION ")

  /// The batch rows behind the sections above, with their inputs' offsets.
  private static let batches = """
    WITH seen AS (
      \(seen)
    ), batches AS (
      SELECT 'ad_selection' AS service, * FROM ad_selection.batch
      UNION ALL SELECT 'impression_tracking', * FROM impression_tracking.batch
      UNION ALL SELECT 'click_tracking', * FROM click_tracking.batch
      UNION ALL SELECT 'billing', * FROM billing.batch
    )
    SELECT jsonb_build_object('service', replace(b.service, '_', '-'), 'partition', b.partition,
      'batch_number', b.batch_number, 'committed_at', b.committed_at,
      'inputs', (SELECT coalesce(jsonb_agg(jsonb_build_object('topic', r.topic,
        'firstOffset', r.first_offset, 'nextOffset', r.next_offset) ORDER BY r.topic), '[]')
        FROM unnest(b.input_topics, b.first_offsets, b.next_offsets) AS r (topic, first_offset, next_offset)
        WHERE r.next_offset > r.first_offset))
    FROM batches b JOIN seen s USING (service, partition, batch_number) ORDER BY b.committed_at, b.service
    """
}
