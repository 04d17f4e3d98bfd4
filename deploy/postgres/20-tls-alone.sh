#!/bin/sh
# Run by PostgreSQL's image when the database is made: nobody comes in over the network without TLS.
set -eu
sed -i 's/^host all all all /hostssl all all all /' "$PGDATA/pg_hba.conf"
grep -q '^hostssl all all all ' "$PGDATA/pg_hba.conf"
