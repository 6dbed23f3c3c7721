// Command torture runs several scoreboardd processes on real PostgreSQL, Redis
// and Apache Kafka, breaks them in an order that a seed decides, and checks
// everything that clients were told against the contract.
//
//	go run ./internal/test/torture --seed 7 --duration 60s
//
// It knows the documented API and nothing of the implementation. Exit status:
// 0 no violation, 3 violations were found, 1 it could not run.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/torture/cluster"
	"github.com/scoreboard/scoreboard/internal/test/torture/contract"
)

// options are the flags.
type options struct {
	seed       uint64
	duration   time.Duration
	writers    int
	players    int
	pauseMS    int
	operations int64
	layout     string
	only       string
	binary     string
	earlier    string
	earlierAt  string
	dir        string
}

// layouts are installations. The wide one has what some faults require.
var layouts = map[string]cluster.Options{
	"two":   {Roles: []string{"", ""}},
	"split": {Roles: split},
	"wide":  {Roles: []string{"", ""}, Brokers: 3, Standby: true, Disks: true, Clocks: true},
	// Several readers of the streams follow each other.
	"streams":  {Roles: threeNodes, Transport: "streams"},
	"sentinel": {Roles: threeNodes, Transport: "streams", Redis: cluster.Sentinels, Settings: manyRelays},
	"cluster":  {Roles: threeNodes, Transport: "streams", Redis: cluster.RedisCluster, Settings: manyRelays},
	"direct":   {Roles: []string{"", ""}, Transport: "direct"},
	"brokers":  {Roles: []string{"", ""}, Brokers: 3},
	"disks":    {Roles: []string{"", ""}, Transport: "direct", Disks: true},
	// Every role is on two of three hosts, behind an edge.
	"containers": {Containers: true, Roles: []string{
		"api,read,relay,intake", "api,read,gateway,projector,maintenance", "gateway,relay,projector,intake,maintenance",
	}},
}

// layoutNames are the layouts in the order in which a long run takes them.
var layoutNames = []string{
	"two", "split", "wide", "streams", "sentinel", "cluster", "direct", "brokers", "disks",
}

var threeNodes = []string{"", "", ""}

// manyRelays gives every node something to publish, also the one that a fault separates.
var manyRelays = []string{"SCOREBOARD_OUTBOX_SHARDS=6"}

var split = []string{
	"api,read,gateway",
	"api,read,gateway",
	"relay,projector,intake,maintenance",
	"relay,projector,intake,maintenance",
}

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the order of faults and requests")
	flag.DurationVar(&o.duration, "duration", time.Minute, "how long to inject faults")
	flag.Int64Var(&o.operations, "operations", 0, "repeat with the next seed and layout until that many operations "+
		"were answered, or a violation is found")
	flag.IntVar(&o.writers, "writers", 12, "clients that write")
	flag.IntVar(&o.players, "players", 40, "users that they share")
	flag.IntVar(&o.pauseMS, "pause", 20, "longest pause of a client between requests, in milliseconds")
	flag.StringVar(&o.layout, "layout", "two", "installation: "+strings.Join(layoutNames, ", ")+
		" or containers; see docs/torture.md")
	flag.StringVar(&o.only, "only", "", "inject only faults whose name contains this, or one of several, "+
		"separated by commas")
	flag.StringVar(&o.binary, "binary", "bin/scoreboardd", "the daemon to run")
	flag.StringVar(&o.earlier, "earlier", "", "the daemon of an earlier version, which some nodes run")
	flag.StringVar(&o.earlierAt, "earlier-nodes", "", "numbers of these nodes, from 0 and separated by commas; "+
		"when empty the last one")
	flag.StringVar(&o.dir, "dir", "", "folder for data and logs, kept afterwards; when empty a temporary one, "+
		"kept if a violation was found")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	found, err := torture(ctx, o)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	case found > 0:
		os.Exit(3)
	}
}

// torture does one run, or as many as o.operations requires, and returns how many
// violations were found.
func torture(ctx context.Context, o options) (found int, err error) {
	if o.operations == 0 {
		r, err := newRun(ctx, o)
		if err != nil {
			return 0, err
		}
		return len(r.log.Violations()), nil
	}
	var rows []string
	var sum int64
	began := time.Now()
	for i := 0; sum < o.operations && found == 0 && ctx.Err() == nil; i++ {
		one := o
		one.seed, one.layout = o.seed+uint64(i), layoutNames[i%len(layoutNames)]
		r, err := newRun(ctx, one)
		if err != nil {
			return found, err
		}
		sum += r.server.Answered.Load()
		found += len(r.log.Violations())
		rows = append(rows, r.row())
		fmt.Printf("%d operations after %s\n", sum, time.Since(began).Round(time.Second))
	}
	fmt.Println("\n" + rowTitle + "\n" + strings.Join(rows, "\n"))
	return found, ctx.Err()
}

// run is a test of an installation: the clients, the faults and the checks.
type run struct {
	*site
	players    *players
	freezer    *freezer
	court      *court
	seasons    *seasons
	league     *league
	tournament *tournament
	deliveries *deliveries
	partitions *partitioning
	watchers   *watchers
}

func makeRun(s *site) *run {
	p := &players{site: s}
	all := &seasons{
		site: s, players: p, family: boardLadder, users: usersOf("l", 12), every: 1700 * time.Millisecond,
	}
	d := newDeliveries(s)
	return &run{
		site: s, players: p, seasons: all, freezer: &freezer{site: s}, court: newCourt(s, p),
		partitions: &partitioning{site: s, seasons: all}, watchers: &watchers{site: s, seasons: all},
		league: newLeague(s, p, d), tournament: newTournament(s, p, d), deliveries: d,
	}
}

// newRun starts an installation, breaks it and checks everything.
func newRun(ctx context.Context, o options) (r *run, err error) {
	layout, ok := layouts[o.layout]
	if !ok {
		return nil, fmt.Errorf("unknown layout %q", o.layout)
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "torture-"); err != nil {
			return nil, err
		}
		defer func() {
			if r != nil && len(r.log.Violations()) > 0 {
				fmt.Println("data and logs are kept in", o.dir)
				return
			}
			_ = os.RemoveAll(o.dir)
		}()
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return nil, err
	}
	layout.Dir, layout.Binary, layout.Earlier = o.dir, o.binary, o.earlier
	if layout.EarlierNodes, err = o.earlierNodes(len(layout.Roles)); err != nil {
		return nil, err
	}
	if layout.Clocks {
		if layout.Binary, err = buildWithClock(ctx, o.dir); err != nil {
			return nil, err
		}
	}
	if layout.Containers {
		if layout.Binary, err = buildStatic(ctx, o.dir); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	c, err := cluster.Start(ctx, layout)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	r = makeRun(&site{o: o, cluster: c, log: contract.NewLog()})
	if err := r.enter(ctx); err != nil {
		return nil, err
	}
	fmt.Printf(
		"seed %d, layout %s, %d writers, %d players, ready after %s\n",
		o.seed,
		o.layout,
		o.writers,
		o.players,
		time.Since(began).Round(time.Millisecond),
	)
	witnessed, dismiss := context.WithCancel(ctx)
	defer dismiss()
	r.watchers.callWitnesses(witnessed)
	r.play(ctx)
	r.log.Note("", "the faults are over")
	if err := c.AwaitReady(ctx, time.Minute); err != nil {
		r.log.Violate("availability", "", "%v", err)
	}
	r.phase("ready")
	r.finish(ctx, r.rng(1<<20))
	dismiss()
	r.phase("compared")
	if r.wanted(rewindFault) {
		r.rewind(ctx)
		r.phase("gone back in time")
	}
	r.report(time.Since(began))
	return r, nil
}

// buildStatic builds a daemon that needs no files beside it.
func buildStatic(ctx context.Context, dir string) (binary string, err error) {
	binary = filepath.Join(dir, "scoreboardd")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/scoreboardd")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the daemon: %w\n%s", err, out)
	}
	return binary, nil
}

// earlierNodes are the nodes of so many that run an earlier version.
func (o options) earlierNodes(nodes int) ([]int, error) {
	if o.earlier == "" {
		return nil, nil
	}
	if o.earlierAt == "" {
		return []int{nodes - 1}, nil
	}
	var all []int
	for text := range strings.SplitSeq(o.earlierAt, ",") {
		id, err := strconv.Atoi(text)
		if err != nil || id < 0 || id >= nodes {
			return nil, fmt.Errorf("--earlier-nodes: %q is none of the %d nodes", text, nodes)
		}
		all = append(all, id)
	}
	return all, nil
}

// buildWithClock builds a daemon whose clock can be set.
func buildWithClock(ctx context.Context, dir string) (binary string, err error) {
	if err := cluster.Available(); err != nil {
		return "", err
	}
	overlay, err := cluster.Overlay(ctx, dir)
	if err != nil {
		return "", err
	}
	binary = filepath.Join(dir, "scoreboardd")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "-overlay", overlay, "./cmd/scoreboardd")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the daemon: %w\n%s", err, out)
	}
	return binary, nil
}

// enter makes a token, a key and the boards.
func (r *run) enter(ctx context.Context) error {
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	c := &contract.Client{
		HTTP: &http.Client{Transport: transport}, Answered: new(atomic.Int64),
		Broken: func(method, path string, answer []byte) {
			r.log.Violate("internal error", "", "%s %s was answered with 500: %.300s", method, path, answer)
		},
	}
	var err error
	if c.Token, err = contract.Token(
		cluster.JWTSecret,
		"torture",
		"score:update score:admin",
		12*time.Hour,
	); err != nil {
		return err
	}
	server := r.cluster.Nodes[0].URL()
	var key struct {
		KeyID  string `json:"key_id"`
		Secret string `json:"secret"`
	}
	if status, err := c.Call(
		ctx,
		server,
		http.MethodPost,
		"/v1/admin/keys",
		map[string]any{"name": "torture"},
		&key,
	); err != nil ||
		key.Secret == "" {
		return fmt.Errorf("create a key: status %d, %w", status, err)
	}
	c.KeyID, c.Secret = key.KeyID, key.Secret
	r.server = c
	if err := r.createPairs(ctx); err != nil {
		return err
	}
	season := seasonBody(r.seasons.next())
	season["board"], season["mode"], season["period"] = boardLadder, "increment", "season"
	for _, board := range []map[string]any{
		{"board": boardArena, "mode": "increment"},
		{"board": boardBest, "mode": "best"},
		{"board": boardLatest, "mode": "latest"},
		{"board": boardCourt, "mode": "increment"},
		season,
	} {
		if name, _ := board["board"].(string); r.hasSubscores(name) {
			board["subscore"] = "highest"
		}
		status, err := c.Call(ctx, server, http.MethodPost, "/v1/boards", board, nil)
		if err != nil || status >= 300 {
			return fmt.Errorf("create board %s: status %d, %w", board["board"], status, err)
		}
	}
	r.seasons.add(span{})
	if err := r.league.create(ctx); err != nil {
		return err
	}
	if err := r.tournament.create(ctx); err != nil {
		return err
	}
	if err := r.deliveries.subscribe(ctx); err != nil {
		return err
	}
	if err := r.partitions.divide(ctx); err != nil {
		return err
	}
	time.Sleep(1500 * time.Millisecond) // every node knows the boards
	return nil
}

// play runs the clients and the faults for the duration.
func (r *run) play(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.o.duration)
	defer cancel()
	var all sync.WaitGroup
	actor := uint64(0)
	start := func(do func(ctx context.Context, rng *rand.Rand)) {
		actor++
		rng := r.rng(actor)
		all.Go(func() { do(ctx, rng) })
	}
	start(r.schedule)
	start(r.freezer.operator)
	start(r.court.moderator)
	start(r.court.voider)
	start(r.seasons.roller)
	start(r.partitions.repartitioner)
	for range 2 {
		start(r.court.courtWriter)
		start(r.seasons.writer)
	}
	for range r.o.writers {
		start(r.players.writer)
	}
	for i := range 4 {
		start(r.players.reader)
		start(func(ctx context.Context, rng *rand.Rand) { r.watchers.watcher(ctx, rng, i%2 == 0) })
	}
	if len(r.league.all) > 0 {
		start(r.league.roller)
		start(r.league.claimer)
		for range 2 {
			start(r.league.writer)
		}
	}
	if len(r.tournament.all) > 0 {
		for range 2 {
			start(r.tournament.joiner)
			start(r.tournament.writer)
		}
	}
	all.Wait()
	r.freezer.thaw(context.WithoutCancel(ctx), r.rng(1<<21))
}

// counts are what a run did.
type counts struct{ acknowledged, rejected, accepted, lookUps, unclear, faults int }

func (r *run) count() (c counts) {
	for _, e := range r.log.Events() {
		switch {
		case e.Receipts != nil:
			c.acknowledged++
		case e.Rejected != "":
			c.rejected++
		}
		if e.Accepted {
			c.accepted++
			c.lookUps += e.LookUps
		}
		if e.Maybe {
			c.unclear++
		}
	}
	for _, n := range r.log.Notes() {
		if strings.HasPrefix(n.Text, "fault:") {
			c.faults++
		}
	}
	return c
}

const rowTitle = `| seed | layout | faults | operations | events | acknowledged | rejected | 202 | unknown | found |
|---|---|---|---|---|---|---|---|---|---|`

// row is a run in the table of a long one.
func (r *run) row() string {
	c := r.count()
	return fmt.Sprintf("| %d | %s | %d | %d | %d | %d | %d | %d | %d | %d |", r.o.seed, r.o.layout, c.faults,
		r.server.Answered.Load(), len(r.log.Events()), c.acknowledged, c.rejected, c.accepted, c.unclear,
		len(r.log.Violations()))
}

// report prints what was done and found, with the story of the users of the
// first violations.
func (r *run) report(took time.Duration) {
	c := r.count()
	fmt.Printf(
		"%d events: %d acknowledged, %d rejected, %d accepted with 202 and looked up %d times, "+
			"%d with an attempt of unknown outcome; %d reads, %d changes of partitions, %d faults, %d operations, %s\n",
		len(r.log.Events()), c.acknowledged, c.rejected, c.accepted, c.lookUps, c.unclear,
		len(r.log.Reads()), r.partitions.sets, c.faults, r.server.Answered.Load(), took.Round(time.Second),
	)
	fmt.Println("faults:", r.faults())
	violations := r.log.Violations()
	if len(violations) == 0 {
		fmt.Println("no violation")
		return
	}
	byRule := make(map[string]int)
	for _, v := range violations {
		byRule[v.Rule]++
	}
	fmt.Printf("%d violations: %v\n", len(violations), byRule)
	shown := make(map[string]int)
	told := make(map[string]bool)
	for _, v := range violations {
		if shown[v.Rule]++; shown[v.Rule] > 3 {
			continue
		}
		fmt.Println("-", v)
		if v.User != "" && !told[v.User] && len(told) < 3 {
			told[v.User] = true
			r.story(v.User)
		}
	}
	fmt.Printf("repeat with: --seed %d --layout %s --duration %s --writers %d --players %d --pause %d --only %q\n",
		r.o.seed, r.o.layout, r.o.duration, r.o.writers, r.o.players, r.o.pauseMS, r.o.only)
}

// faults is what was injected, and how often.
func (r *run) faults() string {
	times := make(map[string]int)
	for _, n := range r.log.Notes() {
		if name, ok := strings.CutPrefix(n.Text, "fault: "); ok {
			times[name]++
		}
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(times)) {
		all = append(all, fmt.Sprintf("%s (%d)", name, times[name]))
	}
	return strings.Join(all, ", ")
}

// story prints what happened to one user, beside the faults, in order.
func (r *run) story(user string) {
	type line struct {
		at   time.Duration
		text string
	}
	var lines []line
	for _, e := range r.log.Events() {
		if e.UserID != user {
			continue
		}
		outcome := "no outcome"
		if e.Rejected != "" {
			outcome = "rejected: " + e.Rejected
		}
		for _, receipt := range e.Receipts {
			outcome = fmt.Sprintf(
				"%s version %d score %d recorded %s",
				receipt.Board,
				receipt.Version,
				receipt.NewScore,
				receipt.RecordedAt.Format("15:04:05.000000"),
			)
		}
		lines = append(lines, line{
			e.Invoked,
			fmt.Sprintf(
				"sends %s (%v, delta %d, async %t, attempts %d, maybe %t, 202 %t): %s",
				e.EventID,
				boardsOf(e.Increment),
				e.Delta,
				e.Async,
				e.Attempts,
				e.Maybe,
				e.Accepted,
				outcome,
			),
		})
	}
	for _, n := range r.log.Notes() {
		if n.User == "" || n.User == user {
			lines = append(lines, line{n.At, "* " + n.Text})
		}
	}
	slices.SortFunc(lines, func(a, b line) int { return int(a.at - b.at) })
	fmt.Printf("  the story of %s:\n", user)
	for i, l := range lines {
		if len(lines) > 120 && i < len(lines)-120 {
			continue
		}
		fmt.Printf("  %9.3fs %s\n", l.at.Seconds(), l.text)
	}
}
