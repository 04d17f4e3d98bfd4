/// The day before yesterday of all partitions, from the decisions to the ledger, as the services write it: every ad was
/// seen and charged to its allotment, each 67th was tapped; everything is decided, taken and counted, and nothing is open.
enum DayOfServes {
  /// What is cut into days.
  static let tables = [
    "ad_selection.decision_pack", "ad_selection.decision_row", "impression_tracking.impression_row",
    "click_tracking.click_row", "billing.charge_pack", "billing.charge_row",
  ]
  private static let batchServes: Int64 = 2_000

  static func rows(_ count: Int64, partitions: Int32) -> String {
    let rows = [serves(count, partitions: partitions), events(partitions: partitions), sums, counts, money, pipelines]
    return rows.joined(separator: "\n") + "\nDROP TABLE serve, party, summed; ANALYZE"
  }

  /// Partitions have their serves in turn, over 22 hours: those of a batch within a second, as under load.
  private static func serves(_ count: Int64, partitions: Int32) -> String {
    let round = batchServes * Int64(partitions)
    return """
      CREATE TEMPORARY TABLE party AS
      SELECT *, public.terms_name(app, developer, advertiser, campaign, ad, impression_price, click_price, currency,
        share_basis_points, life_ms, is_test) AS name
      FROM (
        SELECT n, current_date AS last_day, 'app-' || n % 16 AS app, 'dev-' || n % 2 AS developer, 'adv-' || n % 10 AS advertiser,
          'camp-' || n AS campaign, 'ad-' || n AS ad, 10000000::bigint AS impression_price, 2000000000::bigint AS click_price,
          'USD' AS currency, 6000 AS share_basis_points, 900000::bigint AS life_ms, false AS is_test
        FROM generate_series(0, 49) AS n
      ) AS parties;
      CREATE TEMPORARY TABLE serve AS
      SELECT s.n, partition, batch, time, s.n / \(partitions) % 67 = 0 AS is_tapped, party.name AS terms,
        50 * partition + party.n AS allotment, (current_date - 2) - date '1970-01-01' AS budget_day,
        (lpad(to_hex((extract(epoch FROM time) * 1000)::bigint), 12, '0') || '70008' || lpad(to_hex(s.n), 15, '0'))::uuid AS id
      FROM (
        SELECT n, n % \(partitions) AS partition, 1 + n / (\(batchServes) * \(partitions)) AS batch,
          (current_date - 2)::timestamp AT TIME ZONE 'UTC'
            + n / \(round) * (interval '22 hours' * \(round) / \(count)) + n % \(round) * (interval '900 ms' / \(round)) AS time
        FROM generate_series(0, \(count - 1)::bigint) AS n
      ) AS s JOIN party ON party.n = s.n / \(partitions) % 50;
      ANALYZE serve;
      DO $do$
      DECLARE
        service text;
      BEGIN
        FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
          EXECUTE format('INSERT INTO %I.terms (name, last_day, app, developer, advertiser, campaign, ad, impression_price,
              click_price, currency, share_basis_points, life_ms, is_test)
            SELECT name, last_day, app, developer, advertiser, campaign, ad, impression_price, click_price, currency,
              share_basis_points, life_ms, is_test FROM party', service);
        END LOOP;
      END
      $do$;
      INSERT INTO ad_selection.creative (name, last_day, lifetime_milliseconds, action, destination, image_sizes, image_urls)
      VALUES (1, current_date, 900000, 1, 'https://shop.example/', '{1}', '{https://images.example/p.png}');
      """
  }

  private static func events(partitions: Int32) -> String {
    """
    INSERT INTO ad_selection.decision_pack (serve_id, last_serve_id, batch_number, rules, partition, outcome, serve_ids,
      request_ids, client_hashes, arrivals, deadlines_ms, allotments, terms, creatives, reserved, budget_days, candidates,
      outbid, batch_indexes, required_sizes, devices, sizes, reasons, paid_ads, are_interstitial, edge_flags, edge_networks,
      countries, placements, expected_values, excluded_reasons, excluded_counts)
    SELECT min(id::text)::uuid, max(id::text)::uuid, batch, 1, partition, 1, array_agg(id), array_agg(id), array_agg(n),
      array_agg(time), array_agg(0), array_agg(allotment), array_agg(terms), array_agg(1), array_agg(1), array_agg(budget_day),
      array_agg(1), array_agg(0), array_agg(0), array_agg(1), array_agg(1), array_agg(1),
      array_agg(vocabulary.decision_reason('served')), array_agg(1), array_agg(false), array_agg(NULL::smallint),
      array_agg(NULL::int), array_agg('US'::text), array_agg('home'::text), array_agg(7), array_agg(NULL::text), array_agg(NULL::text)
    FROM serve GROUP BY partition, batch, date_trunc('second', time), n / \(partitions) / 48;
    INSERT INTO impression_tracking.impression_row (serve_id, partition, batch_number, sequence, event_time, arrival, terms,
      placement, country, device, size, allotment, budget_day, client_hash, is_test)
    SELECT id, partition, batch, 1 + n / \(partitions), time + interval '1 s', time + interval '1 s', terms, 'home', 'US', 1, 1,
      allotment, budget_day, n, false FROM serve;
    INSERT INTO click_tracking.click_row (serve_id, id_hash, partition, batch_number, sequence, verdict, was_parked, event_time,
      arrival, placement, country, device, size, allotment, budget_day, client_hash, is_test, terms)
    SELECT id, 9, partition, batch, 1 + n / \(partitions) / 67, vocabulary.click_verdict('billable'), false,
      time + interval '2 s', time + interval '2 s', 'home', 'US', 1, 1, allotment, budget_day, n, false, terms
    FROM serve WHERE is_tapped;
    INSERT INTO billing.charge_pack (serve_id, last_serve_id, batch_number, partition, kind, fate, serve_ids, event_times,
      terms, allotments, budget_days, devices, sizes, countries, placements)
    SELECT min(id::text)::uuid, max(id::text)::uuid, batch, partition, vocabulary.charge_kind('impression'),
      vocabulary.charge_fate('charged'), array_agg(id), array_agg(time + interval '1 s'), array_agg(terms),
      array_agg(allotment), array_agg(budget_day), array_agg(1), array_agg(1), array_agg('US'::text), array_agg('home'::text)
    FROM serve GROUP BY partition, batch, date_trunc('minute', time), n / \(partitions) / 64;
    INSERT INTO billing.charge_row (serve_id, batch_number, event_time, id_hash, terms, allotment, partition, budget_day, kind,
      fate, device, size, country, placement)
    SELECT id, batch, time + interval '2 s', 9, terms, allotment, partition, budget_day, vocabulary.charge_kind('click'),
      vocabulary.charge_fate('charged'), 1, 1, 'US', 'home' FROM serve WHERE is_tapped;
    """
  }

  private static let sums = """
    CREATE TEMPORARY TABLE summed AS
    SELECT partition, batch_number, date_trunc('minute', event_time) AS minute, kind, app, developer, advertiser, campaign, ad,
      allotment, budget_day, count(*) AS events, sum(amount) AS gross, sum(developer_amount) AS developer_amount,
      sum(network_amount) AS network_amount
    FROM billing.charge GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;
    """

  private static let counts = """
    INSERT INTO ad_selection.minute_count (partition, minute, reason, app, placement, campaign, ad, country, device, size,
      is_test, requests, fills)
    SELECT partition, minute, vocabulary.decision_reason('served'), app, 'home', campaign, ad, 'US', 1, 1, false, events, events
    FROM summed WHERE kind = vocabulary.charge_kind('impression');
    INSERT INTO impression_tracking.minute_count (partition, minute, kind, error, app, campaign, ad, placement, country,
      size, device, is_test, events)
    SELECT partition, minute, vocabulary.delivery_kind('viewed'), -1, app, campaign, ad, 'home', 'US', 1, 1, false, events
    FROM summed WHERE kind = vocabulary.charge_kind('impression');
    INSERT INTO click_tracking.minute_count (partition, minute, kind, verdict, app, campaign, ad, placement, country, size,
      device, is_test, events)
    SELECT partition, minute, vocabulary.tap_kind('click'), vocabulary.click_verdict('billable'), app, campaign, ad, 'home',
      'US', 1, 1, false, events FROM summed WHERE kind = vocabulary.charge_kind('click');
    INSERT INTO billing.minute_revenue (partition, minute, kind, fate, app, developer, advertiser, campaign, ad, placement,
      country, device, size, currency, events, gross, developer_amount, network_amount)
    SELECT partition, minute, kind, vocabulary.charge_fate('charged'), app, developer, advertiser, campaign, ad, 'home', 'US', 1,
      1, 'USD', events, gross, developer_amount, network_amount FROM summed;
    """

  private static let money = """
    INSERT INTO billing.posting (partition, batch_number, account, currency, debit, credit)
    SELECT partition, batch_number, account, 'USD', sum(debit), sum(credit) FROM summed CROSS JOIN LATERAL (VALUES
      ('advertiser:' || advertiser, gross, 0::numeric), ('developer:' || developer, 0, developer_amount),
      ('network:revenue', 0, network_amount)) AS e (account, debit, credit) GROUP BY 1, 2, 3;
    INSERT INTO billing.balance (partition, account, currency, debit, credit)
    SELECT partition, account, currency, sum(debit), sum(credit) FROM billing.posting GROUP BY 1, 2, 3;
    INSERT INTO billing.allotment (id, partition, ordinal, campaign, advertiser, currency, budget_day, granted, amount,
      charged, used, click_rates, campaign_free, serve_until, state, batch_number, granted_at, closed_at, ended_at,
      grant_version)
    SELECT allotment, partition, 1, campaign, advertiser, 'USD', budget_day, sum(gross), sum(gross), sum(gross), sum(gross),
      '1000000', 0, current_date - 1, vocabulary.allotment_state('ended'), 1, current_date - 2, current_date - 1,
      current_date - 1, 1
    FROM summed GROUP BY allotment, partition, campaign, advertiser, budget_day;
    INSERT INTO ad_selection.allotment (id, partition, ordinal, campaign, budget_day, amount, used, serve_until, batch_number,
      closed_at, report_sequence, click_rates)
    SELECT id, partition, ordinal, campaign, budget_day, granted, charged, serve_until, 1, closed_at, id + 1, click_rates
    FROM billing.allotment;
    INSERT INTO treasury.campaign_day (campaign, day, funded, allotted, charged)
    SELECT campaign, budget_day, sum(charged), 0, sum(charged) FROM billing.allotment GROUP BY 1, 2;
    INSERT INTO treasury.campaign (campaign, advertiser, currency, funded, allotted, charged)
    SELECT campaign, advertiser, 'USD', sum(charged), 0, sum(charged) FROM billing.allotment GROUP BY 1, 2;
    INSERT INTO treasury.account (advertiser, currency, funded, allotted, charged)
    SELECT advertiser, 'USD', sum(charged), 0, sum(charged) FROM treasury.campaign GROUP BY 1;
    """

  /// All that could still come for the day has arrived.
  private static let pipelines = """
    DO $do$
    DECLARE
      service text;
    BEGIN
      FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
        EXECUTE format($sql$
          INSERT INTO %1$I.batch (partition, batch_number, committed_at, watermark, first_arrival, last_arrival, input_topics,
            first_offsets, next_offsets, output_topics, first_sequences, next_sequences, outcomes, first_serve_id,
            last_serve_id)
          SELECT partition, batch, min(time), min(time), min(time), max(time), '{in}', ARRAY[\(batchServes) * (batch - 1)],
            ARRAY[\(batchServes) * batch], '{}', '{}', '{}', decode(repeat('01', \(batchServes)), 'hex'), min(id::text)::uuid,
            max(id::text)::uuid
          FROM serve GROUP BY partition, batch;
          INSERT INTO %1$I.partition (partition, batch_number, watermark, input_topics, next_offsets, last_offsets,
            last_timestamps, last_hashes, consumed_sequences, consumed_watermarks)
          SELECT partition, max(batch), now() + interval '3 days', '{in}', ARRAY[\(batchServes) * max(batch)], '{NULL}',
            '{NULL}', '{NULL}', '{0}', '{epoch}'
          FROM serve GROUP BY 1;
          INSERT INTO %1$I.counted (partition, batch_number) SELECT partition, batch_number FROM %1$I.partition;
        $sql$, service);
      END LOOP;
    END
    $do$;
    INSERT INTO impression_tracking.windows (partition, name, in_force_from, milliseconds)
    SELECT partition, 'HANDBILL_LATE_ARRIVAL', 'epoch', 86400000 FROM impression_tracking.partition;
    UPDATE impression_tracking.partition p SET output_topics = '{ads.impressions.accepted}',
      next_sequences = ARRAY[r.last + 1], confirmed_sequences = ARRAY[r.last]
    FROM (SELECT partition, max(sequence) AS last FROM impression_tracking.impression_row GROUP BY 1) AS r
    WHERE r.partition = p.partition;
    UPDATE click_tracking.partition p SET output_topics = '{ads.clicks.accepted}',
      next_sequences = ARRAY[r.last + 1], confirmed_sequences = ARRAY[r.last]
    FROM (SELECT partition, max(sequence) AS last FROM click_tracking.click_row GROUP BY 1) AS r
    WHERE r.partition = p.partition;
    UPDATE billing.partition p SET input_topics = p.input_topics || ARRAY['ads.impressions.accepted', 'ads.clicks.accepted'],
      next_offsets = p.next_offsets || '{1,1}', last_offsets = '{NULL,NULL,NULL}', last_timestamps = '{NULL,NULL,NULL}',
      last_hashes = '{NULL,NULL,NULL}', consumed_sequences = p.consumed_sequences || i.confirmed_sequences
        || c.confirmed_sequences,
      consumed_watermarks = p.consumed_watermarks || array_fill(now() + interval '3 days', '{2}')
    FROM impression_tracking.partition i JOIN click_tracking.partition c USING (partition) WHERE i.partition = p.partition;
    UPDATE click_tracking.partition p SET input_topics = p.input_topics || ARRAY['ads.impressions.accepted'],
      next_offsets = p.next_offsets || '{1}', last_offsets = '{NULL,NULL}', last_timestamps = '{NULL,NULL}',
      last_hashes = '{NULL,NULL}', consumed_sequences = p.consumed_sequences || i.confirmed_sequences,
      consumed_watermarks = p.consumed_watermarks || (now() + interval '3 days')
    FROM impression_tracking.partition i WHERE i.partition = p.partition;
    """
}
