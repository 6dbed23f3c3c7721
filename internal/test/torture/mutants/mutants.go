package main

// mutant is one change of the product that breaks a guarantee.
type mutant struct {
	name  string
	file  string   // from the repository's root
	old   string   // occurs once in the file
	new   string   // what replaces it
	args  []string // of the torture test
	rules []string // violations of which at least one must be found
}

// mutants each disable one guard. A run with only the named faults finds them.
var mutants = []mutant{
	{
		name: "repeat guard off", file: "server/ledger/decide.go",
		old:   "known != nil {\n\t\treturn known.replay(in, hash)",
		new:   "known != nil && known.hash != hash {\n\t\treturn known.replay(in, hash)",
		args:  []string{"--only", "postgres cut"},
		rules: []string{"counted twice", "repeat", "no outcome"},
	},
	{
		name: "conflicting payload accepted", file: "server/ledger/decide.go",
		old: "if hash != e.hash {", new: "if hash == [16]byte{} {",
		args:  []string{"--only", "delayed"},
		rules: []string{"conflict"},
	},
	{
		name: "revision check off", file: "server/ranking/piece/lua/put.lua",
		old: "newer = tonumber(revision) > tonumber(old)", new: "newer = true",
		// Every read of a head shows all players, before the next change of one repairs its
		// score.
		args:  []string{"--only", "changes repeated", "--players", "100"},
		rules: []string{"stale", "convergence"},
	},
	{
		name: "outbox cursor without the horizon", file: "server/store/outbox/outbox.go",
		old:   "and xid < pg_snapshot_xmin(pg_current_snapshot())",
		new:   "and xid < pg_snapshot_xmax(pg_current_snapshot())",
		args:  []string{"--only", "delayed"},
		rules: []string{"stale", "convergence"},
	},
	{
		name: "offsets committed before the ranking has the changes", file: "server/pipeline/projection/projection.go",
		old: "return paused, p.retry(ctx, func() error { return p.apply(ctx, s, &b, spans) })",
		new: "go func() { _ = p.apply(context.WithoutCancel(ctx), s, &b, spans) }()\n" +
			"\treturn paused, nil",
		args:  []string{"--only", "redis"},
		rules: []string{"stale", "convergence"},
	},
	{
		name: "offsets committed before the ledger has the increments", file: "server/pipeline/ingest/intake.go",
		old:   "for attempt := 0; len(todo) > 0; attempt++ {",
		new:   "for attempt := 0; attempt < 1 && len(todo) > 0; attempt++ {",
		args:  []string{"--only", "postgres"},
		rules: []string{"202 without an outcome"},
	},
	{
		name: "ties reversed", file: "server/ranking/piece/member.go",
		old: "uint64(reached.UnixMicro()))", new: "^uint64(reached.UnixMicro()))",
		args:  []string{"--only", "delayed"},
		rules: []string{"convergence"},
	},
	{
		name: "subscores reversed around 0", file: "server/ranking/piece/member.go",
		old: "uint64(key)^1<<63)", new: "uint64(key))",
		args:  []string{"--only", "delayed"},
		rules: []string{"convergence"},
	},
	{
		name: "a rebuild without subscores", file: "server/store/internal/pg/score.go",
		old:   "hidden,\n    subscore, sub_key`\n\n// SubscoreOf",
		new:   "hidden,\n    0::bigint, 0::bigint`\n\n// SubscoreOf",
		args:  []string{"--only", "ranking rebuilt"},
		rules: []string{"convergence", "head order", "watching"},
	},
	{
		name: "a subscore is set, not added", file: "server/scoreboard/subscore.go",
		old:   "return Pair{p.Score + q.Score, p.Subscore + q.Subscore}",
		new:   "return Pair{p.Score + q.Score, q.Subscore}",
		args:  []string{"--only", "delayed"},
		rules: []string{"history", "ledger"},
	},
	{
		name: "rebuild without catch-up", file: "server/ranking/lua/apply.lua",
		old: "    put(KEYS[5], KEYS[6], 9)\n", new: "",
		args:  []string{"--only", "ranking rebuilt,delayed", "--players", "100"},
		rules: []string{"stale", "convergence"},
	},
	{
		name: "reversal counted twice", file: "server/ledger/correction.go",
		old: "if reversed != c.Undo {", new: "if reversed && c.Undo || !reversed && c.Undo {",
		args:  []string{"--only", "delayed"},
		rules: []string{"corrections", "reversal"},
	},
	{
		name: "freeze that does not wait for writers", file: "server/store/boards/status.go",
		old:   "select pg_advisory_xact_lock(hashtextextended",
		new:   "select pg_advisory_xact_lock_shared(hashtextextended",
		args:  []string{"--only", "postgres delayed"},
		rules: []string{"frozen", "history"},
	},
	{
		name: "epoch reused by a rebuild", file: "server/ranking/piece/lua/swap.lua",
		old: "local server, marked = unpack(redis.call('HMGET', KEYS[4], 'server', 'marked'))",
		new: "ARGV[4] = redis.call('HGET', KEYS[1], 'epoch') or ARGV[4]\n" +
			"local server, marked = unpack(redis.call('HMGET', KEYS[4], 'server', 'marked'))",
		args:  []string{"--only", "ranking rebuilt"},
		rules: []string{"frames go back", "watching"},
	},
	{
		name: "acknowledged before the commit is certain", file: "server/store/internal/ledgertx/write.go",
		old:   "err := conn.SendBatch(ctx, &q).Close(); err != nil {",
		new:   "err := conn.SendBatch(ctx, &q).Close(); err != nil && b.Rows.Len() == 0 {",
		args:  []string{"--only", "postgres cut"},
		rules: []string{"lost"},
	},
	{
		name: "banned users ranked", file: "server/ranking/piece/lua/put.lua",
		old: "if hidden ~= '1' then", new: "if hidden then",
		args:  []string{"--only", "delayed"},
		rules: []string{"banned"},
	},
	{
		name: "reads do not wait for min_version", file: "server/leaderboard/place.go",
		old: "if minVersion > 0 {", new: "if minVersion > 1<<60 {",
		args:  []string{"--only", "kafka"},
		rules: []string{"min_version"},
	},
	{
		name: "202 before the log has the event", file: "server/pipeline/ingest/acceptor.go",
		old:   "case markers[i] != nil && markers[i].Produced && a.recent(markers[i]): // pending already",
		new:   "case markers[i] != nil:",
		args:  []string{"--only", "kafka half-open,node killed at a message", "--writers", "48", "--duration", "70s"},
		rules: []string{"202 without an outcome", "404 after a 202"},
	},
	{
		name: "a returned Redis is trusted at once", file: "server/ranking/piece/fresh.go",
		old: "suspect := f.Server != \"\" && b.Server != f.Server", new: "suspect := false",
		args:  []string{"--only", "redis restored,redis failed over,redis killed"},
		rules: []string{"stale"},
	},
	{
		// A rebuild into other partitions stops for a moment, and the claims expire meanwhile.
		name: "changes not sent to new partitions", file: "server/ranking/partitions/rebuild.go",
		old: "	if err := r.countShadows(ctx, p, s.Users); err != nil {",
		new: "	_ = r.Each(ctx, p.claims(), func(run piece.Runner, name scoreboard.BoardID) *redis.Cmd {\n" +
			"\t\treturn run(r.shadows.Release, r.Keys.Shadow(name), token)\n\t}, ownClaim)\n" +
			"\ttime.Sleep(time.Second)\n" +
			"	if err := r.countShadows(ctx, p, s.Users); err != nil {",
		args:  []string{"--only", "delayed", "--players", "200", "--writers", "36", "--duration", "60s"},
		rules: []string{"stale", "convergence", "frames go back"},
	},
	{
		// The client repeats it when its answer is lost, and what it held stays pending.
		name: "a group is read by a command alone", file: "server/pipeline/transport/streams/consumer.go",
		old: "	entries, last, err := r.run(ctx, readScript)\n	if err != nil {\n		return err\n	}\n",
		new: "	if _, _, err := r.run(ctx, renewScript); err != nil {\n		return err\n	}\n" +
			"	o, last, entries := &r.c.transport.o, \"$\", []redis.XMessage(nil)\n" +
			"	found, err := r.c.transport.rdb.XReadGroup(ctx, &redis.XReadGroupArgs{\n" +
			"		Group: o.Group, Consumer: r.c.name, Streams: []string{r.stream, \">\"}, Count: int64(o.Batch),\n" +
			"		Block: readBlock,\n" +
			"	}).Result()\n	if err != nil && !errors.Is(err, redis.Nil) {\n		return err\n	}\n" +
			"	for i := range found {\n		entries = found[i].Messages\n	}\n",
		args: []string{
			"--only", "redis answers swallowed", "--layout", "streams", "--players", "100", "--duration", "60s",
		},
		rules: []string{"stale", "convergence"},
	},
	{
		name: "a late read is lost with its reader", file: "server/pipeline/transport/streams/group.go",
		old: "if redis.call('GET', lease) ~= member then\n",
		new: "if redis.call('GET', lease) ~= member then\n" +
			"    redis.call('XREADGROUP', 'GROUP', group, member, 'COUNT', count, 'STREAMS', stream, '>')\n" +
			"    redis.call('XGROUP', 'DELCONSUMER', stream, group, member)\n",
		args: []string{
			"--only", "node paused,redis stalled", "--layout", "streams", "--players", "100", "--writers", "36",
			"--duration", "80s",
		},
		rules: []string{"202 without an outcome", "404 after a 202", "stale", "convergence"},
	},
	{
		name: "a lost event is pending as long as its marker", file: "server/pipeline/ingest/acceptor.go",
		old: "case undecided && (err != nil || a.recent(marker)):", new: "case undecided:",
		args:  []string{"--only", "topic of increments recreated,postgres paused"},
		rules: []string{"pending without end"},
	},
	{
		name: "a lost event is not published again", file: "server/pipeline/ingest/acceptor.go",
		old: "markers[i].Produced && a.recent(markers[i]):", new: "markers[i].Produced:",
		args:  []string{"--only", "topic of increments recreated,postgres paused"},
		rules: []string{"202 without an outcome"},
	},
	{
		name: "leader epochs not compared", file: "server/pipeline/transport/kafka/epoch.go",
		old: "} else if end >= 0 && end < from.offset {", new: "} else if end >= 0 && end < 0 {",
		args:  []string{"--only", "kafka log cut", "--players", "100", "--writers", "36", "--duration", "60s"},
		rules: []string{"stale", "convergence"},
	},
	{
		name: "boards from before another node's switch are trusted", file: "server/ranking/lua/heartbeats.lua",
		old: "if doubted and doubted > tonumber(", new: "if false and doubted > tonumber(",
		args: []string{
			"--only", "redis zone", "--layout", "sentinel", "--players", "100", "--writers", "36", "--duration", "100s",
		},
		rules: []string{"stale", "convergence"},
	},
	{
		name: "older states of a board are shown", file: "server/realtime/board.go",
		old:   "	case cur == nil:\n",
		new:   "	case cur == nil || read && top.Degraded == \"\":\n",
		args:  []string{"--only", "redis left,redis restored", "--layout", "direct", "--duration", "60s"},
		rules: []string{"frames go back", "two contents"},
	},
	{
		name: "players of leagues move by two divisions", file: "server/store/boards/league_runs.go",
		old:   "least(greatest(coalesce(l.division, 1) + s.step, 1)",
		new:   "least(greatest(coalesce(l.division, 1) + 2 * s.step, 1)",
		args:  []string{"--only", "delayed"},
		rules: []string{"league"},
	},
	{
		name: "the first rank of a chunk of rewards is skipped", file: "server/store/boards/reward_runs.go",
		old:   "chunk := run.from(run.next, size)",
		new:   "chunk := run.from(run.next+1, size)",
		args:  []string{"--only", "delayed"},
		rules: []string{"reward"},
	},
	{
		name: "a reward is claimed again", file: "server/store/boards/grants.go",
		old:   "and claimed_at is null and revoked_at is null and voids = 0",
		new:   "and revoked_at is null and voids = 0",
		args:  []string{"--only", "delayed"},
		rules: []string{"claim"},
	},
	{
		name: "a tournament takes one more", file: "server/store/boards/join.go",
		old:   "players >= b.Join.MaxPlayers:",
		new:   "players > b.Join.MaxPlayers:",
		args:  []string{"--only", "delayed"},
		rules: []string{"tournament"},
	},
	{
		name: "users join a tournament after its start", file: "server/scoreboard/tournament.go",
		old:   "if !b.Join.Late && !now.Before(b.PeriodStart) {",
		new:   "if !b.Join.Late && !now.Before(b.PeriodEnd) {",
		args:  []string{"--only", "delayed"},
		rules: []string{"tournament"},
	},
	{
		name: "webhooks are not told of the last reward of a page", file: "server/store/operations/reward_messages.go",
		old:   "for i := range grants {\n\t\tg := &grants[i]",
		new:   "for i := range grants[:max(0, len(grants)-1)] {\n\t\tg := &grants[i]",
		args:  []string{"--only", "delayed"},
		rules: []string{"webhook"},
	},
	{
		name: "anybody plays in a tournament", file: "server/ledger/decide.go",
		old:   "return next, until, board.NotJoined(in.User)",
		new:   "_ = board.NotJoined(in.User)",
		args:  []string{"--only", "delayed"},
		rules: []string{"tournament"},
	},
	{
		name: "a full disk is an internal error", file: "server/store/internal/pg/errors.go",
		old:   "	var connect *pgconn.ConnectError // whatever a server says to a login\n",
		new:   "	var connect *pgconn.ConnectError\n	if Code(err) == \"XX000\" {\n		return false\n	}\n",
		args:  []string{"--only", "postgres disk full", "--layout", "disks"},
		rules: []string{"internal error"},
	},
	{
		name: "no start without Kafka", file: "server/start.go",
		old:   "outage: func(err error) bool { return !errors.Is(err, kafka.ErrTooFewPartitions) },",
		new:   "outage: func(err error) bool { return errors.Is(err, kafka.ErrTooFewPartitions) },",
		args:  []string{"--only", "started without kafka"},
		rules: []string{"availability"},
	},
	{
		name: "a short visit to another Redis is not noticed", file: "server/ranking/witness.go",
		old:   "if w.leads != \"\" && w.leads != server {",
		new:   "if w.leads == \"?\" {",
		args:  []string{"--only", "redis left", "--layout", "direct", "--duration", "80s"},
		rules: []string{"stale", "convergence"},
	},
	{
		name: "changes of a lost history applied", file: "server/ranking/lua/apply.lua",
		old: "if tonumber(ARGV[5]) < since then", new: "if false then",
		args:  []string{"--only", "postgres goes back in time"},
		rules: []string{"rewind"},
	},
}
