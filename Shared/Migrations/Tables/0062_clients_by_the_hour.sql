-- Clients are taken out of rows hour by hour, and no longer of a whole day at once.
DROP FUNCTION IF EXISTS public.day_with_clients(regclass, date);
DROP FUNCTION IF EXISTS public.forget_clients(regclass, date, int, int);
