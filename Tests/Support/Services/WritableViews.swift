/// Lets tests write rows by the views that show them with their terms, as if those were tables.
enum WritableViews {
  private static let views = [
    "ad_selection.decision", "impression_tracking.impression", "impression_tracking.delivery", "click_tracking.click",
    "click_tracking.parked", "billing.charge", "billing.waiting",
  ]

  private static let positions = ["ad_selection", "impression_tracking", "click_tracking", "billing"].flatMap {
    ["\($0).input", "\($0).output"]
  }

  /// The terms that a view does not show are empty. A row that changes is written anew. Records are selected from, not
  /// taken apart by `(…).*`, which would make them again for each column.
  static let sql =
    """
    CREATE FUNCTION public.write_row() RETURNS trigger LANGUAGE plpgsql AS $function$
    DECLARE
      rows text := format('%I.%I', TG_TABLE_SCHEMA, TG_TABLE_NAME || '_row');
      key text;
      content jsonb := '{"developer": "", "advertiser": "", "impression_price": 0, "click_price": 0, "currency": "",
        "share_basis_points": 0}';
      terms record;
    BEGIN
      IF TG_OP <> 'INSERT' THEN
        IF TG_TABLE_NAME = 'decision' THEN PERFORM public.unpack_decision(OLD.serve_id); END IF;
        IF TG_TABLE_NAME = 'charge' THEN PERFORM public.unpack_charge(OLD.serve_id); END IF;
        SELECT string_agg(format('%1$I = ($1).%1$I', a.attname), ' AND ') INTO key
        FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
        WHERE i.indrelid = rows::regclass AND i.indisprimary;
        EXECUTE format('DELETE FROM %s WHERE %s', rows, key) USING OLD;
      END IF;
      IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
      content := content || jsonb_strip_nulls(to_jsonb(NEW));
      -- Of an event's terms billing shows the price of its own kind.
      IF TG_TABLE_SCHEMA = 'billing' THEN
        content := content || jsonb_build_object('is_test', false,
          vocabulary.charge_kind_name(NEW.kind) || '_price', content->'price');
      END IF;
      IF TG_TABLE_NAME = 'delivery' THEN content := '{"error": -1}' || content; END IF;
      content := content || jsonb_build_object('life_ms', coalesce((extract(epoch FROM
        (content->>'expires_at')::timestamptz - public.time_of(NEW.serve_id)) * 1000)::bigint, 0),
        'last_day', '9999-01-01');
      IF content->>'ad' IS NOT NULL THEN
        EXECUTE format('SELECT * FROM jsonb_populate_record(NULL::%I.terms, $1)', TG_TABLE_SCHEMA) INTO terms
          USING content;
        content := content || jsonb_build_object('name', public.terms_name(terms.app, terms.developer, terms.advertiser,
          terms.campaign, terms.ad, terms.impression_price, terms.click_price, terms.currency, terms.share_basis_points,
          terms.life_ms, terms.is_test));
        EXECUTE format('INSERT INTO %1$I.terms SELECT * FROM jsonb_populate_record(NULL::%1$I.terms, $1)
          ON CONFLICT DO NOTHING', TG_TABLE_SCHEMA) USING content;
        content := content || jsonb_build_object('terms', content->'name');
        IF TG_TABLE_NAME = 'decision' THEN
          content := content - 'app' || jsonb_build_object('name', ad_selection.creative_name(NEW.lifetime_milliseconds,
            NEW.action, NEW.destination, NEW.image_sizes, NEW.image_urls));
          INSERT INTO ad_selection.creative SELECT * FROM jsonb_populate_record(NULL::ad_selection.creative, content)
          ON CONFLICT DO NOTHING;
          content := content || jsonb_build_object('creative', content->'name');
        END IF;
      END IF;
      EXECUTE format('INSERT INTO %1$s SELECT * FROM jsonb_populate_record(NULL::%1$s, $1)', rows) USING content;
      RETURN NEW;
    END
    $function$;

    -- Gives each decision that lies in a pack with this one a row of its own.
    CREATE FUNCTION public.unpack_decision(id uuid) RETURNS void LANGUAGE plpgsql AS $function$
    DECLARE
      pack record;
    BEGIN
      FOR pack IN SELECT * FROM ad_selection.decision_pack WHERE id = ANY (serve_ids) LOOP
        INSERT INTO ad_selection.decision_row
        SELECT d.* FROM ad_selection.packed_decisions(pack.serve_id, pack.last_serve_id) AS d
        WHERE d.serve_id = ANY (pack.serve_ids);
        DELETE FROM ad_selection.decision_pack WHERE serve_id = pack.serve_id AND partition = pack.partition;
      END LOOP;
    END
    $function$;

    -- Packs two thirds of the live served ads, as the service does.
    CREATE FUNCTION public.pack_decisions() RETURNS void LANGUAGE sql AS $function$
      WITH packed AS (
        DELETE FROM ad_selection.decision_row
        WHERE terms IS NOT NULL AND NOT is_test AND uuid_hash(serve_id) % 3 <> 0 RETURNING *
      )
      INSERT INTO ad_selection.decision_pack
      SELECT (array_agg(serve_id ORDER BY serve_id))[1], (array_agg(serve_id ORDER BY serve_id DESC))[1], batch_number,
        coalesce(rules, 0), catalog_change, partition, outcome, array_agg(serve_id), array_agg(request_id),
        array_agg(client_hash), array_agg(arrival),
        array_agg((extract(epoch FROM deadline - arrival) * 1000)::int), array_agg(allotment), array_agg(terms),
        array_agg(creative), array_agg(reserved), array_agg(budget_day), array_agg(candidates), array_agg(outbid),
        array_agg(coalesce(batch_index, 0)::smallint), array_agg(coalesce(required_sizes, 0)), array_agg(device),
        array_agg(size), array_agg(reason), array_agg(paid_ads), array_agg(is_interstitial), array_agg(edge_flags),
        array_agg(country), array_agg(placement), array_agg(expected_value), array_agg(excluded_reasons::text),
        array_agg(excluded_counts::text), array_agg(edge_network)
      FROM packed GROUP BY date_trunc('second', public.time_of(serve_id)), batch_number, partition, rules,
        catalog_change, outcome
    $function$;

    -- The same for charges.
    CREATE FUNCTION public.unpack_charge(id uuid) RETURNS void LANGUAGE plpgsql AS $function$
    DECLARE
      pack record;
    BEGIN
      FOR pack IN DELETE FROM billing.charge_pack WHERE id = ANY (serve_ids) RETURNING * LOOP
        INSERT INTO billing.charge_row
        SELECT c.serve_id, pack.batch_number, c.event_time, 0, c.terms, c.allotment, NULL, pack.partition, c.budget_day,
          pack.kind, pack.fate, c.device, c.size, c.country, c.placement
        FROM unnest(pack.serve_ids, pack.event_times, pack.terms, pack.allotments, pack.budget_days, pack.devices,
          pack.sizes, pack.countries, pack.placements)
        AS c (serve_id, event_time, terms, allotment, budget_day, device, size, country, placement);
      END LOOP;
    END
    $function$;

    -- Packs two thirds of the impressions' charges that drew on no free budget, as the service does.
    CREATE FUNCTION public.pack_charges() RETURNS void LANGUAGE sql AS $function$
      WITH packed AS (
        DELETE FROM billing.charge_row
        WHERE kind = vocabulary.charge_kind('impression') AND draw_version IS NULL AND uuid_hash(serve_id) % 3 <> 0
        RETURNING *
      )
      INSERT INTO billing.charge_pack
      SELECT (array_agg(serve_id ORDER BY serve_id))[1], (array_agg(serve_id ORDER BY serve_id DESC))[1], batch_number,
        partition, kind, fate, array_agg(serve_id), array_agg(event_time), array_agg(terms), array_agg(allotment),
        array_agg(budget_day), array_agg(device), array_agg(size), array_agg(country), array_agg(placement)
      FROM packed GROUP BY date_trunc('minute', public.time_of(serve_id), 'UTC'), batch_number, partition, kind, fate
    $function$;

    -- A position is an element of its partition's arrays.
    CREATE FUNCTION public.write_position() RETURNS trigger LANGUAGE plpgsql AS $function$
    DECLARE
      changed text := CASE TG_OP WHEN 'INSERT' THEN NEW.topic ELSE OLD.topic END;
      partition_number int := CASE TG_OP WHEN 'INSERT' THEN NEW.partition ELSE OLD.partition END;
      arrays text := CASE TG_TABLE_NAME WHEN 'input' THEN 'input_topics, next_offsets, last_offsets, last_timestamps,
        last_hashes, consumed_sequences, consumed_watermarks' ELSE 'output_topics, next_sequences, confirmed_sequences' END;
      elements text := CASE TG_TABLE_NAME WHEN 'input' THEN 'coalesce(array_agg(topic), ''{}''), coalesce(array_agg(coalesce(next_offset, 0)), ''{}''),
        coalesce(array_agg(last_offset), ''{}''), coalesce(array_agg(last_timestamp), ''{}''), coalesce(array_agg(last_hash), ''{}''), coalesce(array_agg(coalesce(consumed_sequence, 0)), ''{}''),
        coalesce(array_agg(coalesce(consumed_watermark, ''epoch'')), ''{}'')' ELSE 'coalesce(array_agg(topic), ''{}''), coalesce(array_agg(coalesce(next_sequence, 1)), ''{}''),
        coalesce(array_agg(coalesce(confirmed_sequence, 0)), ''{}'')' END;
    BEGIN
      EXECUTE format('INSERT INTO %I.partition (partition) VALUES ($1) ON CONFLICT DO NOTHING', TG_TABLE_SCHEMA)
        USING partition_number;
      EXECUTE format('UPDATE %1$I.partition SET (%3$s) = (SELECT %4$s FROM (
          SELECT * FROM %1$I.%2$I WHERE partition = $1 AND topic <> $2 UNION ALL SELECT ($3).* WHERE ($3).topic IS NOT NULL
        ) AS positions) WHERE partition = $1', TG_TABLE_SCHEMA, TG_TABLE_NAME, arrays, elements)
        USING partition_number, changed, NEW;
      RETURN coalesce(NEW, OLD);
    END
    $function$;
    """
    + positions.map {
      """
      CREATE TRIGGER write_position INSTEAD OF INSERT OR UPDATE OR DELETE ON \($0)
        FOR EACH ROW EXECUTE FUNCTION public.write_position();
      """
    }.joined(separator: "\n")
    + views.map {
      """
      CREATE TRIGGER write_row INSTEAD OF INSERT OR UPDATE OR DELETE ON \($0)
        FOR EACH ROW EXECUTE FUNCTION public.write_row();
      """
    }.joined(separator: "\n")
      + """
      ALTER VIEW click_tracking.click ALTER COLUMN is_accidental SET DEFAULT false;
      ALTER VIEW click_tracking.click ALTER COLUMN is_judged SET DEFAULT true;
      """
}
