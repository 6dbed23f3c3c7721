#!/bin/sh
# Submit increments to scoreboard with curl and openssl, in POSIX shell: one signed in its body, and a batch signed in the
# headers of its request. It reads SBCTL_SERVER, SBCTL_TOKEN, SBCTL_KEY_ID and SBCTL_KEY_SECRET.
#
#   examples/curl/submit.sh USER DELTA EVENT_ID
#
# Run it again with the same event id as often as you like: it counts once. The second increment has the same id with
# ":bonus" at the end.
#
# openssl gets the secret as an argument, which other users of the machine can see: for a shared one, use an SDK.
set -eu
: "${SBCTL_SERVER:?}" "${SBCTL_TOKEN:?}" "${SBCTL_KEY_ID:?}" "${SBCTL_KEY_SECRET:?}"
user=${1:?the user} delta=${2:?the delta} event=${3:?the event id}
case $delta in '' | *[!0-9]*) echo "delta must be a number" >&2 && exit 2 ;; esac
case $user$event in *[!A-Za-z0-9._:@-]*) echo "ids have only A-Z a-z 0-9 . _ : @ -" >&2 && exit 2 ;; esac

# hmac: the signature, in hex, of the text on standard input
hmac() { openssl dgst -sha256 -hmac "$SBCTL_KEY_SECRET" -r | cut -d' ' -f1; }

# post PATH BODY [HEADER...]: the response. Temporary failures are tried again with the same event id; curl waits for
# Retry-After. The options come on standard input, so that the token is not in the list of processes.
post() {
	path=$1 body=$2
	shift 2
	{
		printf 'header = "%s"\n' "Authorization: Bearer $SBCTL_TOKEN" "Content-Type: application/json" "$@"
		printf 'data = "%s"\n' "$(printf %s "$body" | sed 's/[\"]/\\&/g')"
	} | curl -sS --fail-with-body --max-time 10 --retry 4 --retry-max-time 50 --retry-connrefused \
		--config - "$SBCTL_SERVER$path"
	echo
}

# In the body: user_id|delta|event_id|timestamp. A signature is valid for 60 seconds.
timestamp=$(date -u +%Y-%m-%dT%H:%M:%SZ)
signature=$(printf '%s|%s|%s|%s' "$user" "$delta" "$event" "$timestamp" | hmac)
signed='"timestamp":"'"$timestamp"'","key_id":"'"$SBCTL_KEY_ID"'","signature":"'"$signature"'"'
post /v1/scores/increment '{"user_id":"'"$user"'","delta":'"$delta"',"event_id":"'"$event"'",'"$signed"'}'

# In the headers: the method, the path, the key, the time and the SHA-256 of the body.
items='{"items":[{"user_id":"'"$user"'","delta":1,"event_id":"'"$event"':bonus","timestamp":"'"$timestamp"'"}]}'
seconds=$(date +%s)
sum=$(printf %s "$items" | openssl dgst -sha256 -r | cut -d' ' -f1)
signature=$(printf 'POST\n/v1/scores/increments\n%s\n%s\n%s' "$SBCTL_KEY_ID" "$seconds" "$sum" | hmac)
post /v1/scores/increments "$items" "X-Scoreboard-Key: $SBCTL_KEY_ID" "X-Scoreboard-Timestamp: $seconds" \
	"X-Scoreboard-Signature: v1=$signature"
