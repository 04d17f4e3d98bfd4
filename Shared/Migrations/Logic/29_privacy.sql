-- What a person may ask the network for, by client (A8). Charges never say of which client they are.

-- Takes a client, and the network that he asked from, out of the serves from `first` on and before `next`, in every table at
-- once, so that whoever compares them meets all of it or nothing. But for taps that wait: they are decided in a day or two, by
-- what else the client did, and are taken out then. Says out of how many requests. Planned for its serves each
-- time: a plan for any would lock the tables of all days.
CREATE OR REPLACE FUNCTION public.erase_client(hashes bigint[], first uuid, next uuid) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $function$
DECLARE
  erased bigint;
BEGIN
  UPDATE ad_selection.decision_row SET client_hash = 0, edge_network = NULL
  WHERE serve_id >= first AND serve_id < next AND client_hash = ANY (hashes);
  GET DIAGNOSTICS erased = ROW_COUNT;
  SELECT erased + count(*) INTO erased FROM ad_selection.packed_decisions(first, next) AS d
  WHERE d.serve_id < next AND d.client_hash = ANY (hashes);
  UPDATE ad_selection.decision_pack AS p SET (client_hashes, edge_networks) = (
    SELECT array_agg(CASE WHEN d.is_erased THEN 0 ELSE d.client_hash END ORDER BY d.index),
      array_agg(CASE WHEN NOT d.is_erased THEN d.edge_network END ORDER BY d.index)
    FROM (
      SELECT e.client_hash, e.edge_network, e.index,
        e.serve_id >= first AND e.serve_id < next AND e.client_hash = ANY (hashes) AS is_erased
      FROM unnest(p.serve_ids, p.client_hashes, p.edge_networks) WITH ORDINALITY
        AS e (serve_id, client_hash, edge_network, index)
    ) AS d)
  WHERE p.serve_id >= public.first_uuid_of_span(first, 1000) AND p.serve_id < next
    AND p.last_serve_id >= first AND p.client_hashes && hashes;
  UPDATE impression_tracking.impression_row SET client_hash = 0
  WHERE serve_id >= first AND serve_id < next AND client_hash = ANY (hashes);
  UPDATE click_tracking.click_row SET client_hash = 0
  WHERE serve_id >= first AND serve_id < next AND client_hash = ANY (hashes);
  RETURN erased;
END
$function$;
