/// What is read for the explanation of a served ad: one statement for each section, whose answer is one JSON object for
/// each row. `$1` is the serve id.
enum ServeSections {
  struct Section: Sendable {
    let name: String
    /// What the section tells.
    let title: String
    let sql: String
    /// Columns whose numbers stand for words.
    var names: [String: @Sendable (Int64) -> String?] = [:]
  }

  static let all = [
    Section(
      name: "decision", title: "Decision (ad selection)",
      sql: """
        SELECT to_jsonb(d) - ARRAY['image_urls', 'expected_value']
          || jsonb_build_object('expected_value', d.expected_value::text)
        FROM ad_selection.decision d WHERE serve_id = $1
        """,
      names: ["reason": ServeNames.decisionReason, "device": ServeNames.device, "size": ServeNames.size]),
    Section(
      name: "impression", title: "Impression (impression tracking)",
      sql: "SELECT to_jsonb(i) FROM impression_tracking.impression i WHERE serve_id = $1",
      names: ["device": ServeNames.device, "size": ServeNames.size]),
    Section(
      name: "delivery", title: "What the device told about it",
      sql: "SELECT to_jsonb(d) FROM impression_tracking.delivery d WHERE serve_id = $1 ORDER BY event_time",
      names: ["kind": ServeNames.deliveryKind]),
    Section(
      name: "clicks", title: "Clicks (click tracking)",
      sql: "SELECT to_jsonb(c) FROM click_tracking.click c WHERE serve_id = $1 ORDER BY sequence",
      names: ["verdict": ServeNames.verdict, "device": ServeNames.device, "size": ServeNames.size]),
    Section(
      name: "parkedClicks", title: "Clicks that wait for the impression",
      sql: "SELECT to_jsonb(p) FROM click_tracking.parked p WHERE serve_id = $1 ORDER BY batch_number, record_offset",
      names: ["device": ServeNames.device, "size": ServeNames.size]),
    Section(
      name: "stoppedActions", title: "Actions that the app blocked or cancelled",
      sql: "SELECT to_jsonb(s) FROM click_tracking.stopped_action s WHERE serve_id = $1 ORDER BY event_time",
      names: ["kind": ServeNames.stoppedKind]),
    Section(
      name: "charges", title: "Fates and charges (billing)",
      sql: "SELECT to_jsonb(c) FROM billing.charge c WHERE serve_id = $1 ORDER BY kind, sequence",
      names: [
        "kind": ServeNames.chargeKind, "fate": ServeNames.fate, "device": ServeNames.device, "size": ServeNames.size,
      ]),
    Section(
      name: "suspense", title: "Put aside: the database refused it as a charge",
      sql: "SELECT to_jsonb(s) FROM billing.suspense s WHERE serve_id = $1 ORDER BY kind, sequence",
      names: ["kind": ServeNames.chargeKind]),
    Section(
      name: "allotment", title: "The allotment it was sold from (billing)",
      sql: """
        SELECT to_jsonb(a) FROM billing.allotment a
        WHERE id = (SELECT allotment FROM ad_selection.decision WHERE serve_id = $1)
        """,
      names: ["state": ServeNames.allotmentState]),
    Section(
      name: "postings", title: "Postings of the journals that hold its charges",
      sql: """
        SELECT to_jsonb(p) || jsonb_build_object('debit', p.debit::text, 'credit', p.credit::text) FROM billing.posting p
        WHERE (partition, batch_number) IN (SELECT partition, batch_number FROM billing.charge
          WHERE serve_id = $1 AND (amount > 0 OR developer_amount > 0)) ORDER BY batch_number, account
        """),
    Section(
      name: "batches", title: "Batches that decided it",
      sql: batches),
  ]

  /// The batch rows behind the sections above, with their inputs' offsets.
  private static let batches = """
    WITH seen AS (
      SELECT 'ad_selection' AS service, partition, batch_number FROM ad_selection.decision WHERE serve_id = $1
      UNION SELECT 'impression_tracking', partition, batch_number FROM impression_tracking.impression WHERE serve_id = $1
      UNION SELECT 'impression_tracking', partition, batch_number FROM impression_tracking.delivery WHERE serve_id = $1
      UNION SELECT 'click_tracking', partition, batch_number FROM click_tracking.click WHERE serve_id = $1
      UNION SELECT 'click_tracking', partition, batch_number FROM click_tracking.parked WHERE serve_id = $1
      UNION SELECT 'click_tracking', partition, batch_number FROM click_tracking.stopped_action WHERE serve_id = $1
      UNION SELECT 'billing', partition, batch_number FROM billing.charge WHERE serve_id = $1
    ), batches AS (
      SELECT 'ad_selection' AS service, * FROM ad_selection.batch
      UNION ALL SELECT 'impression_tracking', * FROM impression_tracking.batch
      UNION ALL SELECT 'click_tracking', * FROM click_tracking.batch
      UNION ALL SELECT 'billing', * FROM billing.batch
    )
    SELECT jsonb_build_object('service', b.service, 'partition', b.partition, 'batch_number', b.batch_number,
      'committed_at', b.committed_at, 'inputs', (SELECT coalesce(jsonb_agg(jsonb_build_object('topic', r.topic,
        'first_offset', r.first_offset, 'next_offset', r.next_offset) ORDER BY r.topic), '[]')
        FROM unnest(b.input_topics, b.first_offsets, b.next_offsets) AS r (topic, first_offset, next_offset)
        WHERE r.next_offset > r.first_offset))
    FROM batches b JOIN seen s USING (service, partition, batch_number) ORDER BY b.committed_at, b.service
    """
}
