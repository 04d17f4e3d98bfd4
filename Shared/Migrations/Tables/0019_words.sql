-- No table has these columns any more: each schema has its own terms.
DROP TABLE public.terms;

-- Where an event stands in its batch is its position, here as in billing.waiting.
ALTER TYPE billing.settle_ready RENAME ATTRIBUTE place TO position;
