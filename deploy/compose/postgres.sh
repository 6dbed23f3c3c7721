#!/bin/sh
# Start PostgreSQL. A first start that was interrupted is repeated: the image would start what it
# finds, without the database or the password. Until initialized.sh runs, nobody can connect, so
# nothing is lost.
set -eu
mark=/var/lib/postgresql/initializing
if [ -e $mark ]; then
	echo "the first start was interrupted: starting again with an empty directory" >&2
	rm -rf "${PGDATA:?}"
elif [ ! -s "$PGDATA/PG_VERSION" ]; then
	: >$mark
	chown postgres $mark
	sync
fi
exec docker-entrypoint.sh "$@"
