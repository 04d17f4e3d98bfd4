/// Five days of two partitions, from the decisions to the ledger, as the services write them: 2030-03-01 to 03-05. Ads are
/// seen 14 minutes after they were served, so some of them on the next day; the advertiser's days begin at 19:00 UTC.
/// Everything is decided, counted and charged.
enum DaysOfTraffic {
  private static let serveColumns = """
    expires_at, app, developer, advertiser, campaign, ad, placement, country, device, size, impression_price, click_price,
    currency, share_basis_points, allotment, budget_day, client_hash, is_test
    """
  private static let terms = """
    time + interval '15 minutes', app, 'dev-' || app, 'adv', campaign, 'ad', 'home', 'US', 1::smallint, 1::smallint,
    CASE WHEN is_test THEN 0 ELSE 10000001 END, CASE WHEN is_test THEN 0 ELSE 2000000000 END, 'USD', 6000, CASE WHEN is_test THEN 0 ELSE allotment END, budget_day, n, is_test
    """

  private static let serves = """
    DO $do$ DECLARE day regclass; BEGIN
      FOR day IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = ANY (ARRAY['ad_selection.decision_row',
        'ad_selection.decision_pack', 'impression_tracking.impression_row', 'click_tracking.click_row', 'billing.charge_row',
        'billing.charge_pack']::regclass[])
      LOOP EXECUTE format('DROP TABLE %s', day); END LOOP;
    END $do$;
    SELECT public.keep_days(t::regclass, '2030-03-06', 5, 1, 10) FROM unnest(ARRAY['ad_selection.decision_row',
      'ad_selection.decision_pack', 'impression_tracking.impression_row', 'impression_tracking.delivery_row', 'click_tracking.click_row',
      'billing.charge_row', 'billing.charge_pack']) AS t;
    CREATE TEMPORARY TABLE serve AS
    SELECT *, (budget_day * 10 + partition * 2 + right(campaign, 1)::int)::bigint AS allotment,
      (lpad(to_hex((extract(epoch FROM time) * 1000)::bigint), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid AS id
    FROM (
      SELECT n, n % 2 AS partition, 'app' || n % 3 AS app, 'camp' || n / 2 % 2 AS campaign, n % 50 = 7 AS is_test,
        moment AS time, floor(extract(epoch FROM moment + interval '5 hours') / 86400)::int AS budget_day,
        1 + floor(extract(epoch FROM moment - '2030-03-01Z') / 21600)::bigint AS batch
      FROM (
        SELECT n, '2030-03-01Z'::timestamptz + n * interval '11 minutes 31 seconds' AS moment FROM generate_series(0, 599) AS n
      ) AS moments
    ) AS serves;
    INSERT INTO ad_selection.decision (serve_id, partition, \(serveColumns), batch_number, request_id, arrival, deadline,
      outcome, reason, lifetime_milliseconds, image_sizes, image_urls, action, destination, reserved, expected_value,
      candidates, outbid, excluded_reasons, excluded_counts)
    SELECT id, partition, \(terms), batch, id, time, time, 1, CASE WHEN is_test THEN vocabulary.decision_reason('servedTest')
      ELSE vocabulary.decision_reason('served') END, 900000, '{1}', '{u}', 1, 'd', 1, 7, 1, 0, '{}', '{}' FROM serve;
    SELECT public.pack_decisions();
    INSERT INTO impression_tracking.impression (serve_id, partition, batch_number, sequence, event_time, arrival,
      \(serveColumns))
    SELECT id, partition, batch, row_number() OVER (PARTITION BY partition ORDER BY n % 7, n), time + interval '14 minutes',
      time + interval '14 minutes', \(terms) FROM serve WHERE n % 5 > 0;
    INSERT INTO click_tracking.click (serve_id, id_hash, partition, batch_number, sequence, verdict, was_parked, event_time,
      arrival, \(serveColumns))
    SELECT id, 9, partition, batch, row_number() OVER (PARTITION BY partition ORDER BY n), \
    vocabulary.click_verdict('billable'), false, time + interval '40 minutes', time + interval '40 minutes', \(terms)
    FROM serve WHERE n % 7 = 1 AND n % 5 > 0;
    """

  private static let charges = """
    INSERT INTO billing.charge (serve_id, kind, id_hash, partition, batch_number, event_time, fate, price, allotment, budget_day,
      draw_version, share_basis_points, app, developer, advertiser, campaign, ad, placement, country, device, size, currency)
    SELECT serve_id, vocabulary.charge_kind('impression'), 0, partition, batch_number, event_time,
      vocabulary.charge_fate('charged'), 10000001, allotment, budget_day, CASE WHEN sequence % 11 = 0 THEN sequence END, 6000,
      app, developer, advertiser, campaign, ad, placement, country, device, size, currency
    FROM impression_tracking.impression WHERE NOT is_test
    UNION ALL
    SELECT serve_id, vocabulary.charge_kind('click'), 9, partition, batch_number, event_time,
      vocabulary.charge_fate('charged'), 2000000000, allotment, budget_day, NULL, 6000, app, developer, advertiser, campaign, ad,
      placement, country, device, size, currency
    FROM click_tracking.click WHERE NOT is_test;
    SELECT public.pack_charges();
    INSERT INTO billing.posting
    SELECT partition, batch_number, account, currency, sum(debit), sum(credit) FROM billing.charge c CROSS JOIN LATERAL (VALUES
      ('advertiser:' || advertiser, amount, 0::bigint), ('developer:' || developer, 0::bigint, developer_amount),
      ('network:revenue', 0::bigint, network_amount)) AS e (account, debit, credit) GROUP BY 1, 2, 3, 4;
    INSERT INTO billing.balance SELECT partition, account, currency, sum(debit), sum(credit) FROM billing.posting GROUP BY 1, 2, 3;
    """

  /// All allotments but those of the last budget day have ended; draws are charged to no allotment.
  private static let budgets = """
    INSERT INTO billing.allotment (id, partition, ordinal, campaign, advertiser, currency, budget_day, granted, amount,
      charged, used, click_rates, campaign_free, serve_until, state, batch_number, granted_at, closed_at, ended_at,
      grant_version)
    SELECT s.allotment, s.partition, 1, s.campaign, 'adv', 'USD', s.budget_day, 1000000000000,
      CASE WHEN s.is_over THEN c.charged ELSE 1000000000000 END, c.charged, CASE WHEN s.is_over THEN c.charged END,
      '1000000', 0, s.ends, vocabulary.allotment_state(CASE WHEN s.is_over THEN 'ended' ELSE 'open' END), 1, s.ends,
      CASE WHEN s.is_over THEN s.ends END, CASE WHEN s.is_over THEN s.ends + interval '2 hours' END, 1
    FROM (
      SELECT DISTINCT allotment, partition, campaign, budget_day, budget_day < (SELECT max(budget_day) FROM serve) AS is_over,
        to_timestamp((budget_day + 1) * 86400 - 5 * 3600) AS ends
      FROM serve
    ) AS s CROSS JOIN LATERAL (
      SELECT coalesce(sum(amount), 0)::bigint AS charged FROM billing.charge c
      WHERE c.allotment = s.allotment AND c.draw_version IS NULL) AS c;
    INSERT INTO ad_selection.allotment (id, partition, ordinal, campaign, budget_day, amount, used, serve_until, batch_number,
      closed_at, report_sequence, click_rates)
    SELECT id, partition, ordinal, campaign, budget_day, granted, charged, serve_until, 1, closed_at,
      CASE WHEN closed_at IS NOT NULL THEN id END, click_rates FROM billing.allotment;
    INSERT INTO treasury.campaign_day (campaign, day, funded, allotted, charged)
    SELECT d.campaign, d.budget_day, 10000000000000, a.open, d.amount - a.charged FROM (
      SELECT campaign, budget_day, sum(amount) AS amount FROM billing.charge GROUP BY 1, 2
    ) AS d CROSS JOIN LATERAL (
      SELECT coalesce(sum(amount), 0) AS open, coalesce(sum(charged), 0) AS charged FROM billing.allotment a
      WHERE a.campaign = d.campaign AND a.budget_day = d.budget_day AND state = vocabulary.allotment_state('open')) AS a;
    INSERT INTO treasury.campaign (campaign, advertiser, currency, funded, allotted, charged)
    SELECT campaign, 'adv', 'USD', 100000000000000, sum(allotted), sum(charged) FROM treasury.campaign_day GROUP BY 1;
    INSERT INTO treasury.account (advertiser, currency, funded, allotted, charged)
    SELECT 'adv', 'USD', 100000000000000, sum(allotted), sum(charged) FROM treasury.campaign;
    """

  private static let counts = """
    INSERT INTO ad_selection.minute_count (partition, minute, reason, app, placement, campaign, ad, country, device, size,
      is_test, requests, fills)
    SELECT partition, date_trunc('minute', arrival), reason, app, placement, campaign, ad, country, device, size, is_test, 1, 1
    FROM ad_selection.decision;
    INSERT INTO impression_tracking.minute_count (partition, minute, kind, error, app, campaign, ad, placement, country,
      size, device, is_test, events)
    SELECT partition, date_trunc('minute', event_time), vocabulary.delivery_kind('viewed'), -1, app, campaign, ad, placement,
      country, size, device, is_test, 1 FROM impression_tracking.impression;
    INSERT INTO click_tracking.minute_count (partition, minute, kind, verdict, app, campaign, ad, placement, country, size,
      device, is_test, events)
    SELECT partition, date_trunc('minute', event_time), vocabulary.tap_kind('click'), verdict, app, campaign, ad, placement,
      country, size, device, is_test, 1 FROM click_tracking.click;
    INSERT INTO billing.minute_revenue SELECT partition, date_trunc('minute', event_time), kind, fate, app, developer,
      advertiser, campaign, ad, placement, country, device, size, currency, 1, amount, developer_amount, network_amount
      FROM billing.charge;
    """

  /// 24 batches of each service's partition, six hours each, two records in each.
  private static let pipelines = """
    DO $do$
    DECLARE
      service text;
    BEGIN
      FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
        EXECUTE format($sql$
          INSERT INTO %1$I.partition (partition, batch_number, watermark) SELECT p, 24, '2030-03-20Z' FROM generate_series(0, 1) p;
          INSERT INTO %1$I.counted (partition, batch_number) SELECT p, 24 FROM generate_series(0, 1) p;
          INSERT INTO %1$I.batch (partition, batch_number, committed_at, watermark, first_arrival, last_arrival, input_topics,
            first_offsets, next_offsets, output_topics, first_sequences, next_sequences, outcomes, first_serve_id,
            last_serve_id)
          SELECT p, b, '2030-03-01Z'::timestamptz + b * interval '6 hours', '2030-03-01Z', NULL, NULL, '{in}',
            ARRAY[2 * b - 2], ARRAY[2 * b], '{}', '{}', '{}', '\\x0101',
            public.first_uuid_at('2030-03-01Z'::timestamptz + (b - 1) * interval '6 hours'),
            public.first_uuid_at('2030-03-01Z'::timestamptz + b * interval '6 hours')
          FROM generate_series(0, 1) p, generate_series(1, 24) b;
          INSERT INTO %1$I.input (partition, topic, next_offset) SELECT p, 'in', 48 FROM generate_series(0, 1) p;
        $sql$, service);
      END LOOP;
    END
    $do$;
    INSERT INTO impression_tracking.windows SELECT p, 'HANDBILL_LATE_ARRIVAL', '2030-01-01Z', 86400000
      FROM generate_series(0, 1) p;
    INSERT INTO impression_tracking.output SELECT partition, 'ads.impressions.accepted', max(sequence) + 1, max(sequence)
      FROM impression_tracking.impression GROUP BY 1;
    INSERT INTO click_tracking.output SELECT partition, 'ads.clicks.accepted', max(sequence) + 1, max(sequence)
      FROM click_tracking.click GROUP BY 1;
    INSERT INTO billing.input (partition, topic, next_offset, consumed_sequence, consumed_watermark)
    SELECT partition, topic, 1, next_sequence - 1, '2030-03-20Z'::timestamptz FROM impression_tracking.output
    UNION ALL SELECT partition, topic, 1, next_sequence - 1, '2030-03-20Z' FROM click_tracking.output;
    INSERT INTO click_tracking.input (partition, topic, next_offset, consumed_sequence, consumed_watermark)
    SELECT partition, topic, 1, next_sequence - 1, '2030-03-20Z'::timestamptz FROM impression_tracking.output;
    """

  static let rows = [serves, charges, budgets, counts, pipelines].joined(separator: "\n")
}
