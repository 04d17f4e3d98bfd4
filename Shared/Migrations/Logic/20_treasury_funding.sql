-- What an account may be charged in all, as the catalogue says at a version. Lowering takes effect as far as what is
-- charged and allotted allows, and further as allotments return. False: this version, or a later one, was there
-- already.
CREATE OR REPLACE FUNCTION treasury.fund_account(
  p_advertiser text, p_currency text, p_requested numeric, p_record_version bigint
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  new_version bigint;
BEGIN
  -- Whoever opens a partition says all of them again: that writes nothing and waits for nobody.
  IF EXISTS (SELECT FROM treasury.account
    WHERE advertiser = p_advertiser AND currency = p_currency AND record_version >= p_record_version)
  THEN
    RETURN false;
  END IF;
  INSERT INTO treasury.account (advertiser, currency) VALUES (p_advertiser, p_currency) ON CONFLICT DO NOTHING;
  UPDATE treasury.account SET requested = p_requested, funded = greatest(p_requested, charged + allotted),
    record_version = p_record_version, version = version + 1
  WHERE advertiser = p_advertiser AND currency = p_currency AND record_version < p_record_version
  RETURNING version INTO new_version;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO treasury.funding (advertiser, currency, campaign, record_version, requested, account_version)
  VALUES (p_advertiser, p_currency, '', p_record_version, p_requested, new_version);
  RETURN true;
END
$function$;

-- The same for a campaign's total budget and what each day may be charged (B4), from the day on that goes on in the
-- advertiser's time zone. Days that are over stay as they are.
CREATE OR REPLACE FUNCTION treasury.fund_campaign(
  p_campaign text, p_advertiser text, p_currency text, p_requested numeric, p_daily_budget numeric,
  p_record_version bigint, p_first_day int
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  new_version bigint;
BEGIN
  IF EXISTS (SELECT FROM treasury.campaign WHERE campaign = p_campaign AND advertiser = p_advertiser
    AND currency = p_currency AND record_version >= p_record_version)
  THEN
    RETURN false;
  END IF;
  INSERT INTO treasury.account (advertiser, currency) VALUES (p_advertiser, p_currency) ON CONFLICT DO NOTHING;
  -- Before anything of it is locked, as everybody does.
  PERFORM FROM treasury.account WHERE advertiser = p_advertiser AND currency = p_currency FOR UPDATE;
  INSERT INTO treasury.campaign (campaign, advertiser, currency) VALUES (p_campaign, p_advertiser, p_currency)
  ON CONFLICT DO NOTHING;
  UPDATE treasury.campaign SET requested = p_requested, funded = greatest(p_requested, charged + allotted),
    daily_budget = p_daily_budget, record_version = p_record_version
  WHERE campaign = p_campaign AND advertiser = p_advertiser AND currency = p_currency
    AND record_version < p_record_version;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE treasury.campaign_day SET requested = coalesce(p_daily_budget, p_requested),
    funded = greatest(coalesce(p_daily_budget, p_requested), charged + allotted)
  WHERE campaign = p_campaign AND day >= p_first_day;
  UPDATE treasury.account SET version = version + 1 WHERE advertiser = p_advertiser AND currency = p_currency
  RETURNING version INTO new_version;
  INSERT INTO treasury.funding
    (advertiser, currency, campaign, record_version, requested, daily_budget, account_version)
  VALUES (p_advertiser, p_currency, p_campaign, p_record_version, p_requested, p_daily_budget, new_version);
  RETURN true;
END
$function$;
