#!/bin/sh
# Show the development stack with a game (internal/test/demo): on a terminal in the
# dashboard until q, and otherwise as a table of the top 10 per second. DEMO_SECONDS
# ends it after that time. It removes everything that it started.
set -eu
cd "$(dirname "$0")/.."

case "${DEMO_SECONDS:-1}" in
*[!0-9]* | 0)
	echo "demo: DEMO_SECONDS must be a whole number of seconds, not $DEMO_SECONDS" >&2
	exit 2
	;;
esac

. deploy/stack.sh
play='' watch='' timer=''

end() {
	trap - EXIT INT TERM
	for pid in $timer $watch $play $daemon; do
		kill -TERM "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	rm -rf "$dir"
	[ -z "$watch" ] || echo 'demo: ended, its data is removed; "make dev" runs a stack that keeps its data' >&2
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

start_stack demo

.cache/bin/demo seed
.cache/bin/demo play >"$dir/play.log" 2>&1 &
play=$!

# Run in the background, because the shell delays signals while it waits for a
# foreground process. Descriptor 3 gives it the terminal, which the TUI reads.
exec 3<&0
bin/sbctl watch --board cup <&3 3<&- &
watch=$!

if [ -n "${DEMO_SECONDS:-}" ]; then
	(
		sleep "$DEMO_SECONDS" &
		sleeping=$!
		trap 'kill "$sleeping" 2>/dev/null; exit 0' TERM
		wait "$sleeping"
		: >"$dir/time-is-up"
		kill -TERM "$watch" 2>/dev/null
	) &
	timer=$!
fi

status=0
wait "$watch" || status=$?
if ! kill -0 "$play" 2>/dev/null; then
	cat "$dir/play.log" >&2
	echo "demo: the game stopped" >&2
	exit 1
fi
cat "$dir/play.log" >&2 # what happened at the end of the season
[ ! -e "$dir/time-is-up" ] || exit 0
exit "$status"
