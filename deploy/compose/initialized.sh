#!/bin/sh
# The last step of the first start of PostgreSQL: see postgres.sh.
rm -f /var/lib/postgresql/initializing
sync
