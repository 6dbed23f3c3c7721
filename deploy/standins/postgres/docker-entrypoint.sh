#!/bin/bash
# Create the cluster with the user, password and database of the environment unless there is
# one, then run the server.
set -euo pipefail
if [ "$1" = postgres ] && [ "$(id -u)" = 0 ]; then
	mkdir -p "$PGDATA"
	chown -R postgres "$PGDATA"
	chmod 700 "$PGDATA"
	exec setpriv --reuid postgres --regid postgres --clear-groups "$0" "$@"
fi
if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
	user=${POSTGRES_USER:-postgres}
	password=${POSTGRES_PASSWORD:-}
	[ -z "${POSTGRES_PASSWORD_FILE:-}" ] || password=$(<"$POSTGRES_PASSWORD_FILE")
	[ -n "$password" ] || { echo "POSTGRES_PASSWORD is not set" >&2; exit 1; }
	# shellcheck disable=SC2086
	initdb --username="$user" --pwfile=<(printf '%s\n' "$password") ${POSTGRES_INITDB_ARGS:-}
	printf '\nhost all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
	pg_ctl -D "$PGDATA" -w -o "-c listen_addresses='' -c unix_socket_directories=/var/run/postgresql" start
	psql=(psql -X -v ON_ERROR_STOP=1 -h /var/run/postgresql -U "$user")
	[ "${POSTGRES_DB:-$user}" = postgres ] || "${psql[@]}" -d postgres -c "create database \"${POSTGRES_DB:-$user}\""
	for script in /docker-entrypoint-initdb.d/*; do
		case $script in
		*.sh) if [ -x "$script" ]; then "$script"; else . "$script"; fi ;;
		*.sql) "${psql[@]}" -d "${POSTGRES_DB:-$user}" -f "$script" ;;
		esac
	done
	pg_ctl -D "$PGDATA" -m fast -w stop
	echo "PostgreSQL init process complete; ready for start up."
fi
[ "$1" != postgres ] || set -- "$@" -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql
exec "$@"
