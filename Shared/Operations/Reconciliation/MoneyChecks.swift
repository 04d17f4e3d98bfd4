internal import AdCore

/// I5 and I6: budgets hold what was charged and allotted, and the ledger balances.
enum MoneyChecks {
  static let all = [
    budgets("account", key: ["advertiser", "currency"]), budgets("campaign", key: ["campaign"]), days, allotments,
    selectionAllotments, journals, balances, ledger, revenue,
  ]

  /// Shared rows: allotted is the amounts of allotments not ended; charged is the ended ones and the direct draws; waiting
  /// is the prices of what waits.
  private static func budgets(_ table: String, key: [String]) -> ReconciliationStatement {
    let columns = key.joined(separator: ", ")
    return ReconciliationStatement(
      rule: "I5", name: "billing.\(table): charged, allotted and waiting are what was charged, is allotted and waits",
      sql: shared(table, key: columns))
  }

  private static let days = ReconciliationStatement(
    rule: "I5", name: "billing.campaign_day: charged, allotted and waiting are what was charged, is allotted and waits",
    sql: shared("(SELECT *, day AS budget_day FROM billing.campaign_day)", key: "campaign, budget_day", isTable: false))

  private static func shared(_ table: String, key: String, isTable: Bool = true) -> String {
    """
    WITH allotted AS (
      SELECT \(key), sum(amount) AS amount, sum(charged) AS charged FROM billing.allotment WHERE state < \(AllotmentState.ended.number) GROUP BY \(key)
    ), charged AS (
      SELECT \(key), sum(amount) AS amount FROM billing.charge WHERE fate = \(ChargeFate.charged.number) AND amount > 0 GROUP BY \(key)
    ), waiting AS (
      SELECT \(key), sum(price) AS amount FROM billing.waiting GROUP BY \(key)
    ), compared AS (
      SELECT concat_ws(' ', \(key)) AS key, b.funded, b.allotted, b.charged, b.waiting,
        coalesce(a.amount, 0) AS allotments, coalesce(c.amount, 0) - coalesce(a.charged, 0) AS charges,
        coalesce(w.amount, 0) AS prices
      FROM \(isTable ? "billing.\(table)" : table) b FULL JOIN allotted a USING (\(key))
        FULL JOIN charged c USING (\(key)) FULL JOIN waiting w USING (\(key))
    ), faults AS (
      SELECT format('%s: allotted %s, allotments %s; charged %s, charges %s; waiting %s, prices %s; funded %s (nanos)',
        key, allotted, allotments, charged, charges, waiting, prices, funded) AS example
      FROM compared WHERE allotted IS DISTINCT FROM allotments OR charged IS DISTINCT FROM charges
        OR waiting IS DISTINCT FROM prices OR charged + allotted > funded
    )
    SELECT (SELECT count(*) FROM compared), (SELECT count(*) FROM faults),
      ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
    """
  }

  private static let allotments = ReconciliationStatement(
    rule: "I5", name: "allotments: charged is the sum of their charges",
    sql: """
      WITH charged AS (
        SELECT allotment AS id, sum(amount) AS amount FROM billing.charge
        WHERE fate = \(ChargeFate.charged.number) AND draw_version IS NULL AND amount > 0 GROUP BY allotment
      ), compared AS (
        SELECT id, a.charged, a.amount AS holds, coalesce(c.amount, 0) AS charges
        FROM billing.allotment a FULL JOIN charged c USING (id)
      ), faults AS (
        SELECT format('allotment %s: charged %s, its charges %s, amount %s (nanos)', id, charged, charges, holds) AS example
        FROM compared WHERE charged IS DISTINCT FROM charges OR charged > holds
      )
      SELECT (SELECT count(*) FROM compared), (SELECT count(*) FROM faults),
        ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
      """)

  private static let selectionAllotments = ReconciliationStatement(
    rule: "I5", name: "allotments: ad selection used no more than billing granted",
    sql: """
      WITH compared AS (
        SELECT id, s.used, s.amount, b.granted, b.used AS reported
        FROM ad_selection.allotment s LEFT JOIN billing.allotment b USING (id)
      ), faults AS (
        SELECT format('allotment %s: used %s of %s, granted %s, reported %s (nanos)', id, used, amount, granted, reported)
          AS example
        FROM compared WHERE granted IS NULL OR amount <> granted OR used > granted OR reported <> used
      )
      SELECT (SELECT count(*) FROM compared), (SELECT count(*) FROM faults),
        ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
      """)

  private static let journals = ReconciliationStatement(
    rule: "I6", name: "ledger: debits are credits, in each journal and currency",
    sql: """
      WITH journals AS (
        SELECT partition, batch_number, currency, sum(debit) AS debit, sum(credit) AS credit, count(*) AS rows
        FROM billing.posting GROUP BY 1, 2, 3
      ), faults AS (
        SELECT format('journal %s of partition %s: debit %s, credit %s %s (nanos)', batch_number, partition, debit, credit,
          currency) AS example
        FROM journals WHERE debit <> credit
      )
      SELECT coalesce((SELECT sum(rows) FROM journals), 0)::bigint, (SELECT count(*) FROM faults),
        ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
      """)

  private static let balances = ReconciliationStatement(
    rule: "I6", name: "balances are the sums of their postings",
    sql: """
      WITH compared AS (
        SELECT partition, account, currency, b.debit, b.credit, p.debit AS posted_debit, p.credit AS posted_credit
        FROM billing.balance b FULL JOIN (
          SELECT partition, account, currency, sum(debit) AS debit, sum(credit) AS credit
          FROM billing.posting GROUP BY 1, 2, 3
        ) p USING (partition, account, currency)
      ), faults AS (
        SELECT format('%s %s, partition %s: debit %s, posted %s; credit %s, posted %s (nanos)', account, currency, partition,
          debit, posted_debit, credit, posted_credit) AS example
        FROM compared WHERE debit IS DISTINCT FROM posted_debit OR credit IS DISTINCT FROM posted_credit
      )
      SELECT (SELECT count(*) FROM compared), (SELECT count(*) FROM faults),
        ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
      """)

  private static let ledger = ReconciliationStatement(
    rule: "I6", name: "ledger: advertisers paid and developers got what the charges say",
    sql: """
      WITH charged AS (
        SELECT account, currency, sum(net) AS net FROM (
          SELECT 'advertiser:' || advertiser AS account, currency, amount::numeric AS net FROM billing.charge
          UNION ALL SELECT 'developer:' || developer, currency, -developer_amount FROM billing.charge
        ) AS parts GROUP BY 1, 2 HAVING sum(net) <> 0
      ), posted AS (
        SELECT account, currency, sum(debit - credit) AS net FROM billing.posting
        WHERE account LIKE 'advertiser:%' OR account LIKE 'developer:%' GROUP BY 1, 2 HAVING sum(debit - credit) <> 0
      ), compared AS (
        SELECT account, currency, c.net AS charged, p.net AS posted
        FROM charged c FULL JOIN posted p USING (account, currency)
      ), faults AS (
        SELECT format('%s: charges %s, postings %s %s (nanos)', account, charged, posted, currency) AS example
        FROM compared WHERE charged IS DISTINCT FROM posted
      )
      SELECT (SELECT count(*) FROM compared), (SELECT count(*) FROM faults),
        ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
      """)

  /// Charges of the batches that billing has counted, and those whose fate the database decided: it counts them itself.
  private static let revenue = ReconciliationStatement(
    rule: "M6", name: "revenue per minute is what the charges say",
    sql: """
      WITH charged AS (
        SELECT partition, campaign, app, kind, fate, currency, count(*) AS events, sum(amount) AS gross,
          sum(developer_amount) AS developer, sum(network_amount) AS network
        FROM billing.charge LEFT JOIN billing.counted d USING (partition)
        WHERE draw_version IS NOT NULL OR charge.batch_number <= d.batch_number GROUP BY 1, 2, 3, 4, 5, 6
      ), counted AS (
        SELECT partition, campaign, app, kind, fate, currency, sum(events) AS events, sum(gross) AS gross,
          sum(developer_amount) AS developer, sum(network_amount) AS network
        FROM billing.all_revenue GROUP BY 1, 2, 3, 4, 5, 6
      ), compared AS (
        SELECT concat_ws(' ', campaign, app, 'kind', kind, 'fate', fate, currency, 'partition', partition) AS key,
          c.events, m.events AS counted_events,
          (c.events, c.gross, c.developer, c.network) IS DISTINCT FROM (m.events, m.gross, m.developer, m.network) AS differs
        FROM charged c FULL JOIN counted m USING (partition, campaign, app, kind, fate, currency)
      ), faults AS (
        SELECT format('%s: %s charges, %s counted', key, events, counted_events) AS example FROM compared WHERE differs
      )
      SELECT (SELECT count(*) FROM compared), (SELECT count(*) FROM faults),
        ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
      """)
}
