internal import AdCore

/// I7a: each event that billing has taken has exactly one fate (charged, unfunded, free and why, waiting, held or suspense), and
/// nothing else has one; its charge says of it what its tracker does, costs what price and fate say, and is split by the
/// share (B2, B4).
enum FateChecks {
  /// Of a range of serves: $1 and $2 as ``ServeRange`` says.
  static let ofServes = [
    fates(
      Accepted(
        name: "impressions", kind: .impression, rows: "impression_tracking.impressions($1, $2)", idHash: "0::bigint",
        price: "impression_price", freeFate: "NULL::smallint")),
    fates(
      Accepted(
        name: "clicks", kind: .click, rows: "click_tracking.clicks($1, $2)", idHash: "id_hash", price: "click_price",
        freeFate: freeFate)),
  ]

  /// In numbers: whoever compares needs no right on the words.
  private static let freeFate =
    "CASE verdict "
    + ClickVerdict.free.map { "WHEN \($0.number) THEN \(ChargeFate.free($0).number)::smallint " }.joined() + "END"

  /// Accepted events of one kind, in their tracker's words.
  private struct Accepted {
    let name: String
    let kind: ChargeKind
    let rows: String
    let idHash: String
    let price: String
    /// The fate of what nobody pays for; NULL where it is to be paid.
    let freeFate: String

    var other: ChargeKind { kind == .impression ? .click : .impression }
  }

  /// What a charge repeats of its event.
  private static let facts = [
    "event_time", "budget_day", "app", "developer", "advertiser", "campaign", "ad", "placement", "country",
    "device", "size", "currency",
  ]

  private static func columns(_ table: String) -> String { facts.map { "\(table).\($0)" }.joined(separator: ", ") }

  private static func fates(_ accepted: Accepted) -> ReconciliationStatement {
    ReconciliationStatement(
      rule: "I7a",
      name:
        "\(accepted.name): accepted and taken by billing = charged + unfunded + free + waiting + held + suspense, once each",
      sql: """
        WITH \(sources(accepted)), compared AS (
          SELECT serve_id, id_hash, partition, is_accepted, source, a.price, a.share, a.free_fate, f.kind, f.fate,
            f.price AS charged_price, f.share AS charged_share, f.amount, f.developer_amount, f.network_amount,
            source <> 'suspense' AND (\(columns("a"))) IS DISTINCT FROM (\(columns("f"))) AS differs
          FROM accepted a FULL JOIN fates f USING (serve_id, id_hash, partition)
        ), doubled AS (
          -- The key of charges names the event, but what is apart from them, or packed, can be there besides.
          SELECT serve_id, id_hash, partition FROM compared WHERE source IS NOT NULL GROUP BY 1, 2, 3 HAVING count(*) > 1
        ), faults AS (
          SELECT CASE WHEN source IS NULL THEN format('%s is accepted and has no fate', serve_id)
            WHEN is_accepted IS NULL THEN format('%s has a fate and was not accepted', serve_id)
            WHEN differs THEN format('%s: its %s says something else of it than its tracker', serve_id, source)
            WHEN source = 'suspense' THEN format('%s: price %s in its token, %s in suspense', serve_id, price, charged_price)
            ELSE format('%s: price %s, share %s in its token, %s and %s in its %s; fate %s of kind %s, to be %s; the advertiser pays '
              '%s, the developer gets %s, the network %s', serve_id, price, share, charged_price, charged_share, source, fate,
              kind, coalesce(free_fate::text, 'paid'), amount, developer_amount, network_amount)
          END AS example
          FROM compared WHERE source IS NULL OR is_accepted IS NULL OR differs OR price IS DISTINCT FROM charged_price
            OR kind <> \(accepted.kind.number) OR source <> 'suspense' AND \(isWrong)
          UNION ALL
          SELECT format('%s has more than one fate: %s', serve_id, string_agg(source, ', ' ORDER BY source))
          FROM doubled JOIN compared USING (serve_id, id_hash, partition) GROUP BY serve_id, id_hash, partition
        )
        SELECT (SELECT count(*) FROM compared), (SELECT count(*) FROM faults),
          ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
        """)
  }

  /// Whether share, fate, amount or its split are not what the event's price, share and verdict make them.
  private static let isWrong = """
    (share IS DISTINCT FROM charged_share
      OR CASE WHEN source IN ('waiting', 'held') THEN free_fate IS NOT NULL
        WHEN free_fate IS NULL THEN fate NOT IN (\([ChargeFate.charged, .unfunded, .late, .unpaid, .voided].numbers))
        ELSE fate <> free_fate END
      OR amount IS DISTINCT FROM CASE fate WHEN \(ChargeFate.charged.number) THEN price ELSE 0 END
      OR developer_amount IS DISTINCT FROM CASE WHEN fate IN (\([ChargeFate.charged, .unfunded].numbers))
        THEN round(price * (share::numeric / 10000)) ELSE 0 END
      OR network_amount IS DISTINCT FROM amount - developer_amount)
    """

  /// What is accepted, and its fates.
  private static func sources(_ accepted: Accepted) -> String {
    let unknown = facts.map { _ in "NULL" }.joined(separator: ", ")
    let range = "serve_id >= $1 AND serve_id < $2"
    return """
      accepted AS (
        SELECT true AS is_accepted, a.serve_id, \(accepted.idHash) AS id_hash, a.partition, a.\(accepted.price) AS price,
          a.share_basis_points AS share, \(accepted.freeFate) AS free_fate, \(columns("a"))
        FROM \(accepted.rows) a
        JOIN billing.input i ON i.partition = a.partition AND i.topic = 'ads.\(accepted.name).accepted'
        WHERE NOT a.is_test AND a.sequence <= i.consumed_sequence AND a.serve_id >= $1 AND a.serve_id < $2
      ), fates AS (
        SELECT 'charge' AS source, serve_id, id_hash, partition, kind, fate, price, share_basis_points AS share, amount,
          developer_amount, network_amount, \(columns("c"))
        FROM billing.charges($1, $2) c WHERE kind <> \(accepted.other.number) AND \(range)
        UNION ALL
        SELECT 'waiting', serve_id, id_hash, partition, kind, fate, price, share_basis_points, amount, developer_amount,
          network_amount, \(columns("w"))
        FROM billing.waiting w WHERE kind = \(accepted.kind.number) AND \(range)
        UNION ALL
        SELECT 'held', serve_id, id_hash, partition, kind, fate, price, share_basis_points, amount, developer_amount,
          network_amount, \(columns("h"))
        FROM billing.held h WHERE kind = \(accepted.kind.number) AND \(range)
        UNION ALL
        SELECT 'suspense', serve_id, id_hash, partition, kind, NULL, price, NULL, NULL, NULL, NULL, \(unknown)
        FROM billing.suspense WHERE kind = \(accepted.kind.number) AND \(range)
      )
      """
  }
}
