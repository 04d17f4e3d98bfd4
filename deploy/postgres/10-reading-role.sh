#!/bin/sh
# Run once by PostgreSQL's image when the database is made: the role by which Grafana reads. It may read the views of
# the schema `reporting` (the migrations grant that to handbill_reporting) and write nothing.
set -eu
password=$(cat /run/secrets/reading_password)
psql -v ON_ERROR_STOP=1 -v password="$password" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE handbill_reporting NOLOGIN;
CREATE ROLE grafana LOGIN PASSWORD :'password' CONNECTION LIMIT 10 IN ROLE handbill_reporting;
ALTER ROLE grafana SET default_transaction_read_only = on;
ALTER ROLE grafana SET statement_timeout = '10s';
ALTER ROLE grafana SET idle_in_transaction_session_timeout = '5s';
SQL
