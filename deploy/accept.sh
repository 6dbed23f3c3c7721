#!/bin/sh
# The development stack, ten seconds of traffic to warm it, and the acceptance
# criteria, scaled to fit under three minutes. Arguments go to sbctl accept.
# Nothing that it started is left behind but the reports.
set -eu
cd "$(dirname "$0")/.."

. deploy/stack.sh
limit=180 # seconds; what is longer was on a machine too busy to judge by
began=$(date +%s)

end() {
	trap - EXIT INT TERM
	if [ -n "$daemon" ]; then
		kill -TERM "$daemon" 2>/dev/null || true
		wait "$daemon" 2>/dev/null || true
	fi
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

spent=$(($(date +%s) - began))
left=$((spent < limit ? limit - spent : 1))
[ $# -eq 0 ] || left=0 # with arguments it is as long as they say
status=0
timeout --foreground --kill-after=10 "$left" bin/sbctl accept --rate 1000 --duration 60s --users 10000 --ops "$ops" "$@" || status=$?
if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
	echo "accept: not over after $limit s, $up of them until the stack was up: this machine is too busy to judge by" >&2
	exit 1
fi
exit "$status"
