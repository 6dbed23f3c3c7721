# The development stack beside anything else, for the scripts here. One sources
# this, says start_stack NAME, and has in its environment what sbctl needs; its
# trap ends $daemon and removes $dir.

dir=$(mktemp -d)
daemon=''

start_stack() {
	# Free ports, so that it runs beside anything else.
	bin/scoreboardd dev --ephemeral --data "$dir" --addr 127.0.0.1:0 --ops-addr 127.0.0.1:0 >"$dir/scoreboardd.log" 2>&1 &
	daemon=$!

	# The first start on a machine without PostgreSQL fetches it.
	tries=0
	until [ -s "$dir/sbctl.env" ]; do
		if ! kill -0 "$daemon" 2>/dev/null || [ $tries -ge 1200 ]; then
			cat "$dir/scoreboardd.log" >&2
			echo "$1: the development stack did not start" >&2
			exit 1
		fi
		tries=$((tries + 1))
		sleep 0.1
	done
	sed "/^Settings/,\$d" "$dir/scoreboardd.log" >&2 # the banner: what runs, and what only stands in
	set -a
	. "$dir/sbctl.env"
	set +a
	unset SBCTL_PROFILE
}
