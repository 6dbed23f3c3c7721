#!/usr/bin/env bash
# Both signature schemes of scoreboard, with openssl.
set -euo pipefail

secret=sk_test_0123456789abcdef # as it was shown; this one is only for tests

# hmac: the signature, in hex, of the text on standard input. The secret is visible in
# the list of processes meanwhile, so this is for trying out, not for a shared machine.
hmac() { openssl dgst -sha256 -hmac "$secret" -r | cut -d' ' -f1; }

# sign_fields USER DELTA EVENT TIMESTAMP [BOARDS [ACTION]]: the value of "signature"
sign_fields() {
	local text="$1|$2|$3|$4" boards=${5:-} action=${6:-}
	[ -z "$boards$action" ] || text+="|$boards"
	[ -z "$action" ] || text+="|$action"
	printf %s "$text" | hmac
}

# sign_headers METHOD TARGET KEY_ID SECONDS BODY: the value of X-Scoreboard-Signature
sign_headers() {
	local sum
	sum=$(printf %s "$5" | openssl dgst -sha256 -r | cut -d' ' -f1)
	printf 'v1=%s\n' "$(printf '%s\n%s\n%s\n%s\n%s' "$1" "$2" "$3" "$4" "$sum" | hmac)"
}

# the test vectors, in their order
event=3f8a2c1e-6b0d-4b7e-9a53-0c1d2e3f4a5b
time=2026-11-21T12:00:00Z
sign_fields alice 5 $event $time
sign_fields alice 5 $event $time global,daily
sign_fields alice 5 $event $time weekly
sign_fields alice 5 $event $time "" kill
sign_fields alice 5 $event $time weekly kill
sign_fields eu:bob@example.com -3 match-8841:round.2 2026-11-21T13:00:00.250+01:00
sign_headers POST /v1/scores/increments k1 1795262400 '{"items":[]}'
sign_headers POST /v1/scores/increment k1 1795262400 \
	'{"user_id":"alice","delta":5,"event_id":"match-8841","timestamp":"2026-11-21T12:00:00Z"}'
sign_headers PUT '/v1/users/alice/profile?reason=new%20name' k1 1795262400 '{"display_name":"Zoë"}'
sign_headers GET '/v1/events/match-8841?user_id=alice' k1 1795262400 ''
