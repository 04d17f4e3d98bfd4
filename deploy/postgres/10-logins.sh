#!/bin/sh
# Run by PostgreSQL's image when the database is made: a login for each of our programs, member of the role that the
# migrations give its rights to, and one for Grafana, which may read the views of the schema `reporting` and write nothing.
# It may run again, by hand, where the database is older than a login or its password has changed:
#
#   docker compose -f deploy/compose.yaml exec postgres sh /docker-entrypoint-initdb.d/10-logins.sh
set -eu
secrets=${SECRETS:-/run/secrets}

# login ROLE LOGIN PASSWORD
login() {
  # Everybody on the host may read arguments, and nobody else's environment.
  PASSWORD="$3" psql -q -v ON_ERROR_STOP=1 -v role="$1" -v login="$2" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
\getenv password PASSWORD
SELECT format('CREATE ROLE %I NOLOGIN', :'role') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role') \gexec
SELECT format('CREATE ROLE %I', :'login') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'login') \gexec
ALTER ROLE :"login" LOGIN PASSWORD :'password';
GRANT :"role" TO :"login";
SQL
}

for program in ad_selection impression_tracking click_tracking billing console command; do
  # Its address holds its password: postgresql://LOGIN:PASSWORD@HOST:PORT/DATABASE
  password=$(sed 's|^[^:]*://[^:]*:\([^@]*\)@.*$|\1|' "$secrets/database_url_$program")
  login "handbill_$program" "handbill-$(echo "$program" | tr _ -)" "$password"
done

login handbill_reporting grafana "$(cat "$secrets/reading_password")"
psql -q -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
-- So that `handbill doctor` sees standbys.
GRANT pg_read_all_stats TO "handbill-command";
ALTER ROLE grafana CONNECTION LIMIT 10;
ALTER ROLE grafana SET default_transaction_read_only = on;
ALTER ROLE grafana SET statement_timeout = '10s';
ALTER ROLE grafana SET idle_in_transaction_session_timeout = '5s';
SQL
