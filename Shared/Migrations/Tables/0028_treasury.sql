-- What all partitions share of money is the treasury: budgets of accounts, campaigns and days, and what funded them. It is a
-- schema of its own, written by functions of its own alone, apart from what belongs to one partition.
CREATE SCHEMA treasury;
ALTER TABLE billing.account SET SCHEMA treasury;
ALTER TABLE billing.campaign SET SCHEMA treasury;
ALTER TABLE billing.campaign_day SET SCHEMA treasury;
ALTER TABLE billing.funding SET SCHEMA treasury;

-- Made again in that schema.
DROP FUNCTION IF EXISTS billing.fund_account(text, text, numeric, bigint);
DROP FUNCTION IF EXISTS billing.fund_campaign(text, text, text, numeric, numeric, bigint);
DROP FUNCTION IF EXISTS billing.lock_budgets(billing.settle_account[], billing.settle_campaign[], billing.settle_day[]);
DROP FUNCTION IF EXISTS billing.write_budgets(billing.settlement);

-- It has a parameter more: how many days a table has.
DROP FUNCTION IF EXISTS public.keep_days(regclass, date, int, int, int);
