#!/bin/bash
# Exit with 0 if the broker answers. It asks for the versions of requests, which needs no
# password, and starts no JVM, as Kafka's own tools do.
set -euo pipefail
exec 3<>/dev/tcp/127.0.0.1/9092
# Length, request 18 of version 0, number 1, and no name of the client.
printf '\0\0\0\12\0\22\0\0\0\0\0\1\377\377' >&3
answer=$(head -c 8 <&3 | od -An -v -tx1 | tr -d ' \n') # length, and the number of the request
[ "${answer:8}" = 00000001 ]
