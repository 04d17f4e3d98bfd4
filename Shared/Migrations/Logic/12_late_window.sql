-- How late an impression of an ad may arrive, by when the ad was served: the longest window in force at that time or
-- later, since an event is judged when it arrives. The first row of a partition holds for all that was served before.
CREATE OR REPLACE VIEW impression_tracking.late_window AS
SELECT partition,
  public.first_uuid_at(CASE WHEN lag(in_force_from) OVER changes IS NULL THEN '-infinity' ELSE in_force_from END)
    AS first_id,
  public.first_uuid_at(coalesce(lead(in_force_from) OVER changes, 'infinity')) AS next_id,
  max(milliseconds) OVER (changes ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) * interval '1 millisecond' AS late
FROM impression_tracking.windows WHERE name = 'HANDBILL_LATE_ARRIVAL'
WINDOW changes AS (PARTITION BY partition ORDER BY in_force_from);
