internal import AdCore

/// I5 and I6: budgets hold what was charged and allotted, and the ledger balances.
enum MoneyChecks {
  static let all = [selectionAllotments, journals, balances]

  /// What is compared with sums of all open charges, and of all open counts of them by whom they name, which are added up
  /// once.
  static let ofCharges = ReconciliationGroup(
    shared: """
      charges AS MATERIALIZED (SELECT * FROM billing.charge_sums($1, public.first_uuid_at('infinity'))),
      named AS MATERIALIZED (
        SELECT partition, campaign, app, kind, fate, currency, developer, advertiser, sum(events) AS events,
          sum(gross) AS gross, sum(developer_amount) AS developer_amount, sum(network_amount) AS network_amount
        FROM billing.all_revenue WHERE minute >= $4 GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
      )
      """,
    borders: [.serve, .budgetDay, .endedBefore, .minute],
    statements: [
      budgets(
        "account", key: ["advertiser", "currency"],
        sealed: "SELECT substr(account, 12), currency, charged FROM sealed.account WHERE account LIKE 'advertiser:%'"),
      budgets("campaign", key: ["campaign"], sealed: "SELECT campaign, charged FROM sealed.campaign"), days, allotments,
      ledger, revenue, revenueNames,
    ])

  private static let seals = UnsealedBatches.seals("billing.posting", service: "billing")
  /// Journals behind the last sealed batch.
  private static let postings = UnsealedBatches.rows("billing.posting", as: "p")

  /// Shared rows: allotted is the amounts of allotments not ended; charged is the ended ones and the direct draws; waiting
  /// is the prices of what waits.
  ///
  /// - Parameter sealed: the key and the sum of sealed charges.
  private static func budgets(_ table: String, key: [String], sealed: String) -> ReconciliationStatement {
    let columns = key.joined(separator: ", ")
    return ReconciliationStatement(
      rule: "I5", name: "treasury.\(table): charged, allotted and waiting are what was charged, is allotted and waits",
      sql: shared("treasury.\(table)", key: columns, sealed: sealed))
  }

  private static let days = ReconciliationStatement(
    rule: "I5",
    name: "treasury.campaign_day: charged, allotted and waiting are what was charged, is allotted and waits",
    sql: shared(
      "(SELECT *, day AS budget_day FROM treasury.campaign_day WHERE day > $2)", key: "campaign, budget_day",
      sealed: "SELECT campaign, day, charged FROM sealed.campaign_day"))

  private static func shared(_ table: String, key: String, sealed: String) -> String {
    """
    WITH allotted AS (
      SELECT \(key), sum(amount) AS amount, sum(charged) AS charged FROM billing.allotment WHERE state < \(AllotmentState.ended.number) GROUP BY \(key)
    ), charged AS (
      SELECT \(key), sum(amount) AS amount FROM (
        SELECT \(key), amount FROM charges WHERE fate = \(ChargeFate.charged.number) AND amount > 0
        UNION ALL \(sealed)
      ) AS parts GROUP BY \(key)
    ), waiting AS (
      SELECT \(key), sum(price) AS amount FROM billing.waiting GROUP BY \(key)
    ), compared AS (
      SELECT concat_ws(' ', \(key)) AS key, b.funded, b.allotted, b.charged, b.waiting,
        coalesce(a.amount, 0) AS allotments, coalesce(c.amount, 0) - coalesce(a.charged, 0) AS charges,
        coalesce(w.amount, 0) AS prices
      FROM \(table) b FULL JOIN allotted a USING (\(key))
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
        SELECT id, partition, sum(amount) AS amount FROM (
          SELECT allotment AS id, partition, amount FROM charges
          WHERE fate = \(ChargeFate.charged.number) AND NOT is_drawn AND amount > 0
          UNION ALL SELECT allotment, partition, charged FROM sealed.allotment
        ) AS parts GROUP BY id, partition
      ), allotments AS (
        SELECT id, partition, charged, amount FROM billing.allotment WHERE state < \(AllotmentState.ended.number)
        UNION ALL
        SELECT id, partition, charged, amount FROM billing.allotment
        WHERE state = \(AllotmentState.ended.number) AND ended_at >= $3
      ), compared AS (
        SELECT id, a.charged, a.amount AS holds, coalesce(c.amount, 0) AS charges
        FROM allotments a FULL JOIN charged c USING (id, partition)
      ), faults AS (
        SELECT format('allotment %s: charged %s, its charges %s, amount %s (nanos)', id, charged, charges, holds) AS example
        FROM compared WHERE charged IS DISTINCT FROM charges OR charged > holds
      )
      SELECT (SELECT count(*) FROM compared), (SELECT count(*) FROM faults),
        ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
      """)

  private static let selectionAllotments = ReconciliationStatement(
    rule: "I5", name: "allotments: ad selection used no more than billing granted", borders: [.endedBefore],
    sql: """
      WITH open AS (
        SELECT id, partition, used, amount, serve_until FROM ad_selection.allotment WHERE closed_at IS NULL
        UNION ALL SELECT id, partition, used, amount, serve_until FROM ad_selection.allotment WHERE closed_at >= $1
      ), compared AS (
        SELECT s.id, s.used, s.amount, s.serve_until, b.granted, b.used AS reported FROM open s LEFT JOIN LATERAL (
          SELECT a.granted, a.used FROM billing.allotment a WHERE a.id = s.id AND a.partition = s.partition OFFSET 0) AS b ON true
      ), faults AS (
        SELECT format('allotment %s: used %s of %s, granted %s, reported %s (nanos)', id, used, amount, granted, reported)
          AS example
        -- Billing forgets those that ended long ago.
        FROM compared WHERE granted IS NULL AND serve_until >= $1 OR amount <> granted OR used > granted OR reported <> used
      )
      SELECT (SELECT count(*) FROM compared), (SELECT count(*) FROM faults),
        ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
      """)

  private static let journals = ReconciliationStatement(
    rule: "I6", name: "ledger: debits are credits, in each journal and currency",
    sql: """
      \(seals), journals AS (
        SELECT p.partition, p.batch_number, p.currency, sum(p.debit) AS debit, sum(p.credit) AS credit, count(*) AS rows
        FROM \(postings) GROUP BY 1, 2, 3
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
      \(seals), posted AS (
        SELECT partition, account, currency, sum(debit) AS debit, sum(credit) AS credit FROM (
          SELECT p.partition, p.account, p.currency, p.debit, p.credit FROM \(postings)
          UNION ALL SELECT partition, account, currency, debit, credit FROM sealed.account WHERE debit <> 0 OR credit <> 0
        ) AS parts GROUP BY 1, 2, 3
      ), compared AS (
        SELECT partition, account, currency, b.debit, b.credit, p.debit AS posted_debit, p.credit AS posted_credit
        FROM billing.balance b FULL JOIN posted p USING (partition, account, currency)
      ), faults AS (
        SELECT format('%s %s, partition %s: debit %s, posted %s; credit %s, posted %s (nanos)', account, currency, partition,
          debit, posted_debit, credit, posted_credit) AS example
        FROM compared WHERE debit IS DISTINCT FROM posted_debit OR credit IS DISTINCT FROM posted_credit
      )
      SELECT (SELECT count(*) FROM compared), (SELECT count(*) FROM faults),
        ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
      """)

  private static let ledger = ReconciliationStatement(
    rule: "I6", name: "ledger: advertisers, developers and the network paid and got what the charges say",
    sql: """
      \(seals), grouped AS MATERIALIZED (
        SELECT advertiser, developer, currency, sum(amount) AS amount, sum(developer_amount) AS developer_amount,
          sum(network_amount) FILTER (WHERE fate = \(ChargeFate.charged.number)) AS revenue,
          sum(network_amount) FILTER (WHERE fate = \(ChargeFate.unfunded.number)) AS loss
        FROM charges GROUP BY 1, 2, 3
      ), charged AS (
        SELECT account, currency, sum(net) AS net FROM (
          SELECT 'advertiser:' || advertiser AS account, currency, amount AS net FROM grouped
          UNION ALL SELECT 'developer:' || developer, currency, -developer_amount FROM grouped
          UNION ALL SELECT 'network:revenue', currency, -revenue FROM grouped
          UNION ALL SELECT 'network:unfunded', currency, -loss FROM grouped
          UNION ALL SELECT account, currency, charged FROM sealed.account
        ) AS parts GROUP BY 1, 2 HAVING sum(net) <> 0
      ), posted AS (
        SELECT account, currency, sum(debit - credit) AS net FROM (
          SELECT p.account, p.currency, p.debit, p.credit FROM \(postings)
          UNION ALL SELECT account, currency, debit, credit FROM sealed.account
        ) AS parts GROUP BY 1, 2 HAVING sum(debit - credit) <> 0
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
  /// Who is paid and who pays goes by rollups (B7): of these each one is compared, of others the sum.
  private static let revenue = ReconciliationStatement(
    rule: "M6", name: "revenue per minute is what the charges say, and rolled up as much",
    sql: """
      WITH parts AS (
        SELECT partition, campaign, app, kind, fate, currency, events, amount AS gross, developer_amount AS developer,
          network_amount AS network
        FROM charges WHERE is_counted
        UNION ALL
        SELECT partition, campaign, app, kind, fate, currency, events, gross, developer_amount, network_amount
        FROM sealed.revenue_ahead
      ), charged AS (
        SELECT partition, campaign, app, kind, fate, currency, sum(events) AS events, sum(gross) AS gross,
          sum(developer) AS developer, sum(network) AS network
        FROM parts GROUP BY 1, 2, 3, 4, 5, 6
        HAVING sum(events) <> 0 OR sum(gross) <> 0 OR sum(developer) <> 0 OR sum(network) <> 0
      ), counted AS (
        SELECT partition, campaign, app, kind, fate, currency, sum(events) AS events, sum(gross) AS gross,
          sum(developer_amount) AS developer, sum(network_amount) AS network
        FROM named GROUP BY 1, 2, 3, 4, 5, 6
      ), compared AS (
        SELECT concat_ws(' ', campaign, app, 'kind', kind, 'fate', fate, currency, 'partition', partition) AS key,
          c.events, m.events AS counted_events,
          (c.events, c.gross, c.developer, c.network) IS DISTINCT FROM (m.events, m.gross, m.developer, m.network) AS differs
        FROM charged c FULL JOIN counted m USING (partition, campaign, app, kind, fate, currency)
      ), by_name AS (
        SELECT dimension, value, kind, fate, currency, sum(events) AS events, sum(gross) AS gross,
          sum(developer_amount) AS developer, sum(network_amount) AS network
        FROM named CROSS JOIN LATERAL (VALUES ('campaign', campaign), ('developer', developer),
          ('advertiser', ARRAY[advertiser, campaign]::text)) AS d (dimension, value)
        GROUP BY 1, 2, 3, 4, 5
      ), rolled_up AS (
        SELECT dimension, value, kind, fate, currency, sum(events) AS events, sum(gross) AS gross,
          sum(developer_amount) AS developer, sum(network_amount) AS network
        FROM billing.revenue_by_dimension
        WHERE dimension IN ('campaign', 'developer', 'advertiser') AND hour >= $4 GROUP BY 1, 2, 3, 4, 5
      ), dimensions AS (
        SELECT dimension, sum(events) AS events, sum(gross) AS gross, sum(developer_amount) AS developer,
          sum(network_amount) AS network
        FROM billing.revenue_by_dimension WHERE hour >= $4 GROUP BY 1
      ), faults AS (
        SELECT format('%s: %s charges, %s counted', key, events, counted_events) AS example FROM compared WHERE differs
        UNION ALL
        SELECT format('%s %s kind %s fate %s %s: %s counted, %s rolled up', dimension, value, kind, fate, currency,
          c.events, r.events)
        FROM by_name c FULL JOIN rolled_up r USING (dimension, value, kind, fate, currency)
        WHERE (c.events, c.gross, c.developer, c.network) IS DISTINCT FROM (r.events, r.gross, r.developer, r.network)
        UNION ALL
        SELECT format('by %s: %s charges rolled up, by campaign %s', d.dimension, d.events, r.events)
        FROM dimensions d JOIN dimensions r ON r.dimension = 'campaign'
        WHERE (d.events, d.gross, d.developer, d.network) <> (r.events, r.gross, r.developer, r.network)
      )
      SELECT (SELECT count(*) FROM compared), (SELECT count(*) FROM faults),
        ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
      """)

  /// Counts lie beside charges, not under them: whom they name is in the terms of the serves that can be in them.
  private static let revenueNames = ReconciliationStatement(
    rule: "M6", name: "revenue per minute names developers and advertisers as the terms do",
    sql: """
      WITH parties AS (
        SELECT DISTINCT app, developer, campaign, advertiser FROM named
      ), agreed AS (
        SELECT DISTINCT app, developer, campaign, advertiser FROM billing.terms
        -- Events lie a day or two behind their serves.
        WHERE last_day >= ($4 - interval '7 days')::date
      ), faults AS (
        SELECT format('app %s of developer %s, campaign %s of advertiser %s', app, developer, campaign, advertiser) AS example
        FROM (SELECT * FROM parties EXCEPT SELECT * FROM agreed) AS strange
      )
      SELECT (SELECT count(*) FROM parties), (SELECT count(*) FROM faults),
        ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
      """)
}
