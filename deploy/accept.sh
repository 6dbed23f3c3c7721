#!/bin/sh
# The development stack, ten seconds of traffic to warm it, and the acceptance
# criteria, scaled to fit under three minutes. Arguments go to sbctl accept.
# Nothing that it started is left behind but the reports.
set -eu
cd "$(dirname "$0")/.."

. deploy/stack.sh

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

# Few users: ranks are recounted to within those that are not of the run.
echo "warming for ten seconds" >&2
bin/sbctl load run --rate 500 --duration 10s --users 10 --skew 0 --quiet >/dev/null

bin/sbctl accept --rate 1000 --duration 60s --users 10000 --ops "$ops" "$@"
