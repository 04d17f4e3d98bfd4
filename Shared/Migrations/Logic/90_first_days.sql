-- The tables of the days around today, so that a new database takes its first events. Services keep them up themselves,
-- and drop what retention ends; nothing is dropped here.
SELECT public.keep_days(parent::regclass, current_date, 2, 3, 36500)
FROM unnest(ARRAY['ad_selection.decision_row', 'ad_selection.decision_pack', 'impression_tracking.impression_row',
  'impression_tracking.delivery_row', 'impression_tracking.delivery_pack', 'impression_tracking.failure',
  'click_tracking.impression_pack', 'click_tracking.click_row', 'click_tracking.stopped_action',
  'click_tracking.conversion', 'billing.charge_row', 'billing.charge_pack']) AS parent;
SELECT public.keep_count_tables(parent::regclass, 'day', now() - interval '2 days', now() + interval '3 days')
FROM unnest(ARRAY['ad_selection.minute_count', 'impression_tracking.minute_count', 'click_tracking.minute_count',
  'billing.minute_revenue', 'ad_selection.packed_count', 'impression_tracking.packed_count', 'click_tracking.packed_count',
  'billing.packed_revenue']) AS parent;
