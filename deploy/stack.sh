# Start a development stack for the scripts in this folder. A script sources this
# file and calls start_stack NAME, which sets the environment for sbctl. Its trap
# must stop $daemon and remove $dir.

dir=$(mktemp -d)
daemon=''

start_stack() {
	# Free ports, so that other stacks can run at the same time.
	bin/scoreboardd dev --ephemeral --data "$dir" --addr 127.0.0.1:0 --ops-addr 127.0.0.1:0 >"$dir/scoreboardd.log" 2>&1 &
	daemon=$!

	# The first start on a machine without PostgreSQL downloads it.
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
	sed "/^sbctl reads/,\$d" "$dir/scoreboardd.log" >&2 # the banner lists the components and stand-ins
	set -a
	. "$dir/sbctl.env"
	set +a
	unset SBCTL_PROFILE
}
