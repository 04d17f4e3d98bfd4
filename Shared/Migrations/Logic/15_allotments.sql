-- Notes what allotments of a partition have used, all in one statement: of one for each, which a batch of a busy partition
-- has fifty of, most is what any statement costs. They are found by an index also while there are few: a plan is kept until the
-- table is analyzed again, and it grows. The table refuses more than was granted, and any use of a closed one.
CREATE OR REPLACE FUNCTION ad_selection.use_allotments(
  own_partition int, ids bigint[], all_used bigint[], all_used_for_clicks bigint[]
) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $function$
BEGIN
  UPDATE ad_selection.allotment a SET used = u.used, used_for_clicks = u.used_for_clicks
  FROM unnest(ids, all_used, all_used_for_clicks) AS u (id, used, used_for_clicks)
  WHERE a.id = u.id AND a.partition = own_partition;
END
$function$;
