#!/bin/sh
# The development stack, ten seconds of traffic to warm it, and the acceptance
# criteria, scaled to fit under three minutes. Arguments go to sbctl accept.
# Nothing that it started is left behind but the reports.
set -eu
cd "$(dirname "$0")/.."

dir=$(mktemp -d)
daemon=''

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

# Free ports, so that it runs beside anything else.
bin/scoreboardd dev --ephemeral --data "$dir" --addr 127.0.0.1:0 --ops-addr 127.0.0.1:0 >"$dir/scoreboardd.log" 2>&1 &
daemon=$!

# The first start on a machine without PostgreSQL fetches it.
tries=0
until [ -s "$dir/sbctl.env" ]; do
	if ! kill -0 "$daemon" 2>/dev/null || [ $tries -ge 1200 ]; then
		cat "$dir/scoreboardd.log" >&2
		echo "accept: the development stack did not start" >&2
		exit 1
	fi
	tries=$((tries + 1))
	sleep 0.1
done
sed "/^Settings/,\$d" "$dir/scoreboardd.log" >&2 # the banner: what runs, and what only stands in
ops=$(sed -n 's|.*\(http://[0-9.:]*\)/metrics.*|\1|p' "$dir/scoreboardd.log" | head -n 1)
set -a
. "$dir/sbctl.env"
set +a
unset SBCTL_PROFILE

# Few users: ranks are recounted to within those that are not of the run.
echo "warming for ten seconds" >&2
bin/sbctl load run --rate 500 --duration 10s --users 10 --skew 0 --quiet >/dev/null

bin/sbctl accept --rate 1000 --duration 60s --users 10000 --ops "$ops" "$@"
