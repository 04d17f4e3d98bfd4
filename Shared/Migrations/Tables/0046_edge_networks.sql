-- The keyed hash of the network that whoever asked is in, as the edge saw it: the bits of a number of 32 bits that is another
-- each day. NULL: not by the edge, its address is not known, or nothing says any more of which client the row is.
ALTER TABLE ad_selection.decision_row ADD COLUMN edge_network int
  CHECK (edge_network <> 0 AND edge_flags IS NOT NULL OR edge_network IS NULL);

-- Of packs that are stored already nobody knows it.
ALTER TABLE ad_selection.decision_pack ADD COLUMN edge_networks int[];
UPDATE ad_selection.decision_pack SET edge_networks = array_fill(NULL::int, ARRAY[cardinality(serve_ids)]);
ALTER TABLE ad_selection.decision_pack ALTER COLUMN edge_networks SET NOT NULL,
  ALTER COLUMN edge_networks SET STORAGE MAIN,
  DROP CONSTRAINT decision_pack_is_whole;
ALTER TABLE ad_selection.decision_pack
  ADD CONSTRAINT decision_pack_is_whole CHECK (cardinality(serve_ids) = ALL (ARRAY[cardinality(request_ids),
    cardinality(client_hashes), cardinality(arrivals), cardinality(deadlines_ms), cardinality(allotments), cardinality(terms),
    cardinality(creatives), cardinality(reserved), cardinality(budget_days), cardinality(candidates), cardinality(outbid),
    cardinality(batch_indexes), cardinality(required_sizes), cardinality(devices), cardinality(sizes), cardinality(reasons),
    cardinality(paid_ads), cardinality(are_interstitial), cardinality(edge_flags), cardinality(edge_networks),
    cardinality(countries), cardinality(placements), cardinality(expected_values), cardinality(excluded_reasons),
    cardinality(excluded_counts)]));

-- It tells one column more: made again.
DROP FUNCTION IF EXISTS ad_selection.decisions(uuid, uuid) CASCADE;
