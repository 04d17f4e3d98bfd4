-- Whoever asks for a month's money finds it, however many there are.
CREATE INDEX rollup_revenue_month ON billing.rollup_revenue (dimension, (date_trunc('month', hour AT TIME ZONE 'UTC')::date))
  WHERE dimension IN ('developer', 'advertiser');

-- Whoever deletes an ad finds its counts of clicks in each partition.
CREATE INDEX click_count_ad ON billing.click_count (ad, partition);
