#!/usr/bin/env bash
# An experiment, not a supported deployment (docs/citus.md): increments a second and CPU per
# increment of add_increments on the shards of 1, 2 and 3 workers of Citus, and on one
# PostgreSQL without it. Nodes are local processes in a directory that is removed afterwards.
#
#     deploy/citus/bench.sh [SECONDS_PER_RUN]
#
# Needs PostgreSQL 15 with Citus 12.1 (BIN names its programs) and sbctl (SBCTL). Run it as
# root: the servers run as the user postgres.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=${BIN:-/usr/lib/postgresql/15/bin}
sbctl=${SBCTL:-$here/../../bin/sbctl}
seconds=${1:-15}
base=${PORT:-31400}
if ! [ -e "$("$bin/pg_config" --pkglibdir)/citus.so" ]; then
	echo "NOT RUN: the extension citus is not installed for $bin" >&2
	exit 1
fi
work=$(mktemp -d)
chown postgres "$work"
stop() {
	for i in 0 1 2 3; do su postgres -c "$bin/pg_ctl -D $work/n$i -m immediate -w stop" >/dev/null 2>&1 || true; done
	rm -rf "$work"
}
trap stop EXIT
# sql NODE DATABASE ARGUMENT…
sql() {
	local node=$1 database=$2
	shift 2
	"$bin/psql" -qAtX -v ON_ERROR_STOP=1 -h 127.0.0.1 -p $((base + node)) -U postgres -d "$database" "$@"
}
for i in 0 1 2 3; do
	su postgres -c "$bin/initdb -D $work/n$i -U postgres -A trust --no-sync" >/dev/null
	printf '%s\n' "port=$((base + i))" "listen_addresses='127.0.0.1'" "unix_socket_directories='$work'" \
		"shared_preload_libraries='citus'" "shared_buffers=128MB" "citus.node_conninfo='sslmode=prefer'" \
		>>"$work/n$i/postgresql.conf"
	su postgres -c "$bin/pg_ctl -D $work/n$i -l $work/n$i.log -w start" >/dev/null
	sql "$i" postgres -c "create database scoreboard"
	sql "$i" scoreboard -c "create extension citus"
done
sql 0 scoreboard -c "select citus_set_coordinator_host('127.0.0.1', $base)" >/dev/null
for i in 1 2 3; do sql 0 scoreboard -c "select citus_add_node('127.0.0.1', $((base + i)))" >/dev/null; done
SCOREBOARD_POSTGRES_URL="postgres://postgres@127.0.0.1:$base/scoreboard" "$sbctl" migrate up >/dev/null
sql 0 scoreboard -f "$here/distribute.sql" >/dev/null 2>&1
# Lanes of ingest divide the users as shards do: by ranges of hashtext of equal length.
elsewhere=$(sql 0 scoreboard -c "with s as (
    select shardid, shardminvalue::bigint as first, count(*) over () as n from pg_dist_shard
    where logicalrelid = 'users'::regclass)
select count(*) from generate_series(1, 2000) as g
join s on s.shardid = get_shard_id_for_distribution_column('users', 'user-' || g)
where least((hashtext('user-' || g)::bigint + 2147483648) / (4294967296 / n), n - 1)
    <> (first + 2147483648) / (4294967296 / n)")
[ "$elsewhere" = 0 ] || { echo "$elsewhere of 2000 users are in another shard than their lane" >&2; exit 1; }
for i in 1 2 3; do
	sql "$i" scoreboard -c "set citus.enable_ddl_propagation = off" -f "$here/shard_function.sql" -c "
create unlogged table bench_users as
select s as shard, row_number() over (partition by s order by u) as n, u as user_id
from (select 'user-' || g as u, get_shard_id_for_distribution_column('users', 'user-' || g) as s
    from generate_series(1, 60000) as g) as x
where s in (select replace(proname, 'add_increments_', '')::bigint from pg_proc where proname like 'add_increments\\_%');
create index on bench_users (shard, n)" -c "analyze bench_users"
done
sql 0 postgres -c "create database plain"
SCOREBOARD_POSTGRES_URL="postgres://postgres@127.0.0.1:$base/plain" "$sbctl" migrate up >/dev/null
sql 0 plain -c "create unlogged table bench_users as select 0 as shard, g as n, 'user-' || g as user_id
from generate_series(1, 60000) as g" -c "create index on bench_users (shard, n)" -c "analyze bench_users"

# script SHARD SUFFIX USERS writes a call with 100 increments of users of a shard.
script() {
	cat <<SQL
\\set k random(1, $3 - 100)
with u as (
    select array_agg(user_id order by user_id collate "C") as ids from bench_users
    where shard = $1 and n between :k and :k + 99
), f as (
    select ids, array_fill(1, array[100]) as i1, array_fill(1::bigint, array[100]) as b1,
        array_fill('global'::text, array[100]) as g, array_fill(null::text, array[100]) as nt,
        array(select generate_series(1, 100)) as seq,
        array(select gen_random_uuid() from generate_series(1, 100)) as ev
    from u where cardinality(ids) = 100
)
select r.outcome from f, add_increments$2(array['global'], array[1::bigint], array[1::bigint], ids, seq, i1, ids, g, b1,
    i1, seq, b1, i1, ids, g, ev, ev::text[], array_fill('\\x00112233'::bytea, array[100]), b1,
    array_fill('api'::text, array[100]), array_fill(0::smallint, array[100]),
    array_fill(null::timestamptz, array[100]), nt, nt, nt, nt, nt, nt, nt, null::text[],
    now() - interval '25 days') as r;
SQL
}
script 0 "" 60000 >"$work/plain.sql"
for i in 1 2 3; do
	for shard in $(sql "$i" scoreboard -c "select distinct shard from bench_users"); do
		script "$shard" "_$shard" 4800 >"$work/$i-$shard.sql"
	done
done
# cpu NODE…: clock ticks of the nodes' processes, with those that have ended.
cpu() {
	local ticks=0 node pid
	for node in "$@"; do
		pid=$(head -1 "$work/n$node/postmaster.pid")
		ticks=$((ticks + $(awk '{print $14 + $15 + $16 + $17}' "/proc/$pid/stat")))
		for child in $(pgrep -P "$pid"); do
			ticks=$((ticks + $(awk '{print $14 + $15}' "/proc/$child/stat" 2>/dev/null || echo 0)))
		done
	done
	echo "$ticks"
}
# count NODE DATABASE: increments that are recorded.
count() { sql "$1" "$2" -c "select coalesce(sum(version), 0) from scores"; }
# measure NAME DATABASE NODE…: four clients for each node.
measure() {
	local name=$1 database=$2 node before after from to began
	shift 2
	before=$(count 0 "$database")
	from=$(cpu "$@")
	began=$(date +%s.%N)
	local jobs=()
	for node in "$@"; do
		local files=()
		if [ "$database" = plain ]; then
			files=(-f "$work/plain.sql")
		else
			for f in "$work/$node"-*.sql; do files+=(-f "$f"); done
		fi
		PGOPTIONS="-c citus.enable_manual_changes_to_shards=on" "$bin/pgbench" -n -c 4 -j 1 -T "$seconds" -h 127.0.0.1 \
			-p $((base + node)) -U postgres "${files[@]}" "$database" >"$work/out-$node" 2>&1 &
		jobs+=($!)
	done
	for job in "${jobs[@]}"; do wait "$job" || { cat "$work"/out-*; exit 1; }; done
	sleep 1 # backends end
	to=$(cpu "$@")
	after=$(count 0 "$database")
	awk -v name="$name" -v n=$((after - before)) -v ticks=$((to - from)) -v hz="$(getconf CLK_TCK)" \
		-v t="$(echo "$(date +%s.%N) - $began - 1" | bc)" 'BEGIN {
		printf "%-28s %8.0f increments/s  %6.1f us of CPU of PostgreSQL per increment\n", name, n / t, 1e6 * ticks / hz / n }'
}
measure "one PostgreSQL" plain 0
measure "Citus, 1 worker" scoreboard 1
measure "Citus, 2 workers" scoreboard 1 2
measure "Citus, 3 workers" scoreboard 1 2 3
for table in user_score_histories outbox_score_updates; do
	n=$(sql 0 scoreboard -c "select count(*) from $table")
	[ "$n" = "$(count 0 scoreboard)" ] || { echo "$table has $n rows, scores have $(count 0 scoreboard) events" >&2; exit 1; }
done
echo "Scores, ledger and outbox of all workers agree; lanes and shards have the same users."
