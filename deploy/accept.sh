#!/bin/sh
# The development stack, ten seconds of traffic to warm it, and the acceptance
# criteria, scaled to fit under three minutes. Arguments go to sbctl accept.
# Nothing that it started is left behind but the reports.
set -eu
cd "$(dirname "$0")/.."

. deploy/stack.sh
limit=180 # seconds; what is longer was on a machine too busy to judge by
began=$(date +%s)
accept='' timer=''

end() {
	trap - EXIT INT TERM
	for pid in $timer $accept $daemon; do
		kill -TERM "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	rm -rf "$dir"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

start_stack accept
ops=$(sed -n 's|.*\(http://[0-9.:]*\)/metrics.*|\1|p' "$dir/scoreboardd.log" | head -n 1)
up=$(($(date +%s) - began))

# Few users: ranks are recounted to within those that are not of the run.
echo "warming for ten seconds" >&2
bin/sbctl load run --rate 500 --duration 10s --users 10 --skew 0 --quiet >/dev/null

# In the background, or the timer could not end it.
bin/sbctl accept --rate 1000 --duration 60s --users 10000 --ops "$ops" "$@" &
accept=$!
(
	sleep $((limit - $(date +%s) + began)) &
	sleeping=$!
	trap 'kill "$sleeping" 2>/dev/null; exit 0' TERM
	wait "$sleeping"
	: >"$dir/time-is-up"
	kill -TERM "$accept" 2>/dev/null
	sleep 10 & # for what it has measured so far
	sleeping=$!
	wait "$sleeping"
	kill -KILL "$accept" 2>/dev/null
) &
timer=$!

status=0
wait "$accept" || status=$?
accept=''
if [ -e "$dir/time-is-up" ]; then
	echo "accept: not over after $limit s, $up of them until the stack was up: this machine is too busy to judge by" >&2
	exit 1
fi
exit "$status"
