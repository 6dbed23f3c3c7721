#!/bin/sh
# Run PgBouncer with the files that are there.
set -e
[ -s /etc/pgbouncer/pgbouncer.ini ] || { echo "no /etc/pgbouncer/pgbouncer.ini" >&2; exit 1; }
exec "$@"
