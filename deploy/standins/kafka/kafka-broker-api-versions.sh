#!/bin/bash
# kafka-broker-api-versions.sh --bootstrap-server HOST:PORT, for the health check of versions
# before ours: it exits with 0 if the broker answers.
set -euo pipefail
exec 3<>"/dev/tcp/${2%:*}/${2#*:}"
printf '\0\0\0\12\0\22\0\0\0\0\0\1\377\377' >&3
[ -n "$(timeout 5 head -c 8 <&3 | tr -d '\0')" ]
