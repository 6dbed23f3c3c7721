#!/bin/bash
# Run Redis as the user redis, who owns the data.
set -euo pipefail
[ "${1#-}" = "$1" ] && [ "${1%.conf}" = "$1" ] || set -- redis-server "$@"
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
	find . ! -user redis -exec chown redis {} +
	exec setpriv --reuid redis --regid redis --clear-groups --nnp "$0" "$@"
fi
umask 0077
exec "$@"
