package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// createLeague creates a league of seasons, and returns its first one.
func createLeague(
	t testing.TB, s *store.Store, name scoreboard.BoardID, l scoreboard.League, ties ...scoreboard.Ties,
) scoreboard.BoardID {
	t.Helper()
	now := time.Now()
	_, err := s.Boards.CreateBoard(t.Context(), &scoreboard.Board{
		ID: name, Mode: scoreboard.ModeIncrement, Order: scoreboard.OrderHighest, Period: scoreboard.PeriodSeason,
		TimeZone: "UTC", WeekStart: time.Monday, MinDelta: -1000, MaxDelta: 1000, MinScore: -scoreboard.MaxScore,
		MaxScore: scoreboard.MaxScore, Public: true, League: &l, Ties: cmp.Or(ties...),
	}, &scoreboard.Span{Name: "s1", Start: now.Add(-time.Hour), End: now.Add(time.Hour)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return name + ":s1"
}

// addSubscores gives a league subscores, of which the highest ranks first.
func addSubscores(t testing.TB, conn *backends.Conn, league scoreboard.BoardID) {
	t.Helper()
	conn.Do(t, `update boards set subscore = 'highest', min_subscore = -9, max_subscore = 9 where family_id = $1`,
		league)
}

// nextSeason begins season n of a league, which ends the one before.
func nextSeason(t testing.TB, s *store.Store, name scoreboard.BoardID, n int) scoreboard.BoardID {
	t.Helper()
	season := scoreboard.Span{Name: fmt.Sprint("s", n), End: time.Now().Add(time.Hour)}
	if _, err := s.Boards.BeginSeason(t.Context(), name, season, false, nil); err != nil {
		t.Fatal(err)
	}
	return name.Instance(season)
}

// decideAll decides what is due on several nodes at once, each of which is ended after a transaction, then
// after two, and so on.
func decideAll(t *testing.T, nodes []*store.Store, size int) {
	t.Helper()
	endPeriods(t, nodes, func() {},
		func(s *store.Store) ([]scoreboard.DuePeriod, error) { return s.Leagues.DueLeagues(t.Context()) },
		func(s *store.Store, id scoreboard.BoardID, next func(context.Context) error) error {
			_, err := s.Leagues.DecideLeague(t.Context(), id, size, next)
			if wire.CodeOf(err) == wire.CodeUnavailable {
				return nil // another node decides it
			}
			return err
		})
}

// endPeriods ends what is due on several nodes at once, each of which is ended after a transaction, then after
// two, and so on, and calls killed before.
func endPeriods(
	t *testing.T, nodes []*store.Store, killed func(), due func(*store.Store) ([]scoreboard.DuePeriod, error),
	end func(s *store.Store, id scoreboard.BoardID, next func(context.Context) error) error,
) {
	t.Helper()
	var running sync.WaitGroup
	for _, s := range nodes {
		running.Go(func() {
			for life := 1; ; life++ {
				periods, err := due(s)
				if err != nil {
					t.Error(err)
					return
				}
				if len(periods) == 0 {
					return
				}
				for _, p := range periods {
					transactions := 0
					err := end(s, p.Board, func(context.Context) error {
						if transactions++; transactions > life {
							killed()
							return errKilled
						}
						return nil
					})
					if err != nil && !errors.Is(err, errKilled) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	running.Wait()
}

// leaguePlayer is what the naive version of a league reads of a member or a player.
type leaguePlayer struct {
	user     scoreboard.UserID
	cohort   int64
	division int
	fill     string
	ranked   bool // has a standing, and is not banned, erased or private
	at       scoreboard.Position
}

// leagueMembers returns the members of a period.
func leagueMembers(t *testing.T, conn *backends.Conn, period scoreboard.BoardID) map[scoreboard.UserID]leaguePlayer {
	t.Helper()
	rows, err := conn.Query(t.Context(), `select m.user_id, coalesce(m.cohort_id, 0), coalesce(c.division, 0), m.fill,
    coalesce(s.version > 0 and not s.hidden and u.status not in ('banned', 'erased') and not u.private, false),
    coalesce(s.order_key, 0), coalesce(s.sub_key, 0), coalesce(s.reached_at, 'epoch')
from league_members as m left join league_cohorts as c using (cohort_id) left join users as u using (user_id)
left join scores as s on s.user_id = m.user_id and s.board_id = m.board_id where m.board_id = $1`, period)
	if err != nil {
		t.Fatal(err)
	}
	members := make(map[scoreboard.UserID]leaguePlayer)
	var p leaguePlayer
	_, err = pgx.ForEachRow(rows, []any{
		&p.user, &p.cohort, &p.division, &p.fill, &p.ranked, &p.at.Key, &p.at.SubKey, &p.at.ReachedAt,
	}, func() error {
		p.at.User = p.user
		members[p.user] = p
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return members
}

// checkCohorts checks that the cohorts of a period hold what their counts say, at most the size.
func checkCohorts(t *testing.T, conn *backends.Conn, period scoreboard.BoardID, size int) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `select c.cohort_id, c.places, c.size, c.is_full,
    (select count(*) from league_members as m where m.cohort_id = c.cohort_id),
    (select count(*) from league_members as m where m.cohort_id = c.cohort_id and m.fill <> c.fill)
from league_cohorts as c where c.board_id = $1`, period)
	if err != nil {
		t.Fatal(err)
	}
	var id, places, bound, members, strangers int64
	var full bool
	_, err = pgx.ForEachRow(rows, []any{&id, &places, &bound, &full, &members, &strangers}, func() error {
		if members > int64(size) || bound != int64(size) || strangers > 0 || !full && members != places {
			t.Errorf("cohort %d of %s has %d members (%d with another attribute), counts %d of %d, is full: %t",
				id, period, members, strangers, places, bound, full)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// naiveOutcomes is who ends where, as "rank of players: from → to", decided for each cohort alone.
func naiveOutcomes(
	l *scoreboard.League, ties scoreboard.Ties, members map[scoreboard.UserID]leaguePlayer,
) map[scoreboard.UserID]string {
	cohorts := make(map[int64][]leaguePlayer)
	for _, p := range members {
		if p.ranked {
			cohorts[p.cohort] = append(cohorts[p.cohort], p)
		}
	}
	out := make(map[scoreboard.UserID]string)
	for _, cohort := range cohorts {
		for i := range cohort {
			p, rank, to := &cohort[i], 1, cohort[i].division
			for j := range cohort {
				q := &cohort[j]
				better := q.at.Key < p.at.Key || q.at.Key == p.at.Key && q.at.SubKey < p.at.SubKey
				if better || ties == "" && q.at.Compare(&p.at) < 0 {
					rank++
				}
			}
			switch {
			case len(cohort) < l.Min:
			case p.division < l.Divisions && rank <= l.Promote:
				to++
			case p.division > 1 && rank > len(cohort)-l.Relegate:
				to--
			}
			out[p.user] = fmt.Sprintf("%d of %d: %d → %d", rank, len(cohort), p.division, to)
		}
	}
	return out
}

// outcomesOf returns the outcomes of a period, and fails where a player has two.
func outcomesOf(t *testing.T, conn *backends.Conn, period scoreboard.BoardID) (map[scoreboard.UserID]string,
	map[scoreboard.UserID]int,
) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `select user_id, coalesce(rank, 0), players, from_division, to_division
from league_outcomes where board_id = $1`, period)
	if err != nil {
		t.Fatal(err)
	}
	out, to := make(map[scoreboard.UserID]string), make(map[scoreboard.UserID]int)
	var user scoreboard.UserID
	var rank, players, before, after int
	_, err = pgx.ForEachRow(rows, []any{&user, &rank, &players, &before, &after}, func() error {
		if out[user] != "" {
			t.Errorf("%s: %s moves twice", period, user)
		}
		out[user], to[user] = fmt.Sprintf("%d of %d: %d → %d", rank, players, before, after), after
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, to
}

// divisionsOf returns the players of a league above the lowest division.
func divisionsOf(t *testing.T, conn *backends.Conn, league scoreboard.BoardID) map[scoreboard.UserID]int {
	t.Helper()
	rows, err := conn.Query(t.Context(), `select user_id, division from league_divisions where board_id = $1`, league)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[scoreboard.UserID]int)
	var user scoreboard.UserID
	var division int
	if _, err = pgx.ForEachRow(rows, []any{&user, &division}, func() error {
		out[user] = division
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// leagueModel plays random periods of a league against its naive version.
type leagueModel struct {
	t     *testing.T
	conn  *backends.Conn
	nodes []*store.Store
	r     *rand.Rand
	rules scoreboard.League
	ties  scoreboard.Ties

	subscores bool

	name    scoreboard.BoardID
	users   []scoreboard.UserID
	private map[scoreboard.UserID]bool
	erased  map[scoreboard.UserID]bool
	joined  map[scoreboard.UserID]bool // in the current period
	above   map[scoreboard.UserID]int  // divisions but the lowest
	events  int
}

func (m *leagueModel) node() *store.Store { return m.nodes[m.r.IntN(len(m.nodes))] }

// submit has a random player score a few points, so that many are equal.
func (m *leagueModel) submit() {
	user := m.users[m.r.IntN(len(m.users))]
	m.events++
	in := increment(user, 1+m.r.Int64N(3), fmt.Sprint(m.name, m.events), m.name)
	if m.subscores {
		in.Subscore = new(scoreboard.Score(m.r.Int64N(3) - 1))
	}
	fill := []string{"", "eu", "us"}[m.r.IntN(3)]
	if in.Server = m.r.IntN(4) > 0; fill != "" {
		in.Attributes = scoreboard.Attributes{{Name: "region", Value: fill}}
	}
	outcome := record(m.t, m.node(), in)[0]
	if outcome.Err == nil && !m.private[user] {
		m.joined[user] = true
	}
}

// moderate bans, unbans, freezes, hides, shows or erases a random player.
func (m *leagueModel) moderate() {
	user, ctx, s := m.users[m.r.IntN(len(m.users))], m.t.Context(), m.node()
	var err error
	switch m.r.IntN(9) {
	case 0, 1:
		_, err = s.Moderation.Ban(ctx, user, because("user.ban", user))
	case 2, 3:
		_, err = s.Moderation.Unban(ctx, user, because("user.unban", user))
	case 4:
		_, err = s.Moderation.Freeze(ctx, user, because("user.freeze", user))
	case 5, 6:
		if _, _, err = s.Visibility.Put(ctx, user, scoreboard.VisibilityPrivate, nil); err == nil {
			m.private[user] = true
		}
	case 7:
		if _, _, err = s.Visibility.Put(ctx, user, scoreboard.VisibilityPublic, nil); err == nil {
			m.private[user] = false
		}
	case 8:
		if _, err = s.Privacy.BeginErasure(ctx, user, because("user.erase", user)); err == nil {
			m.erased[user] = true
			delete(m.joined, user)
			delete(m.above, user)
		}
	}
	refused := []wire.Code{
		wire.CodeGone, wire.CodeConflict, wire.CodeForbidden, wire.CodeNotFound,
		wire.CodeRateLimited,
	}
	if err != nil && !slices.Contains(refused, wire.CodeOf(err)) {
		m.t.Fatal(err)
	}
}

func (m *leagueModel) play(steps int) {
	for range steps {
		if m.r.IntN(6) == 0 {
			m.moderate()
		} else {
			m.submit()
		}
	}
}

// mayPlay returns the players of a list who are not banned, erased or private now.
func (m *leagueModel) mayPlay(users []scoreboard.UserID) map[scoreboard.UserID]bool {
	rows, err := m.conn.Query(m.t.Context(), `select user_id from users
where user_id = any($1) and status not in ('banned', 'erased') and not private`, users)
	if err != nil {
		m.t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[scoreboard.UserID])
	if err != nil {
		m.t.Fatal(err)
	}
	out := make(map[scoreboard.UserID]bool)
	for _, user := range found {
		out[user] = true
	}
	return out
}

// checkPlaces compares who has a place in a period, and in which division, with who has submitted.
func (m *leagueModel) checkPlaces(period scoreboard.BoardID, joined map[scoreboard.UserID]bool) {
	m.t.Helper()
	checkCohorts(m.t, m.conn, period, m.rules.CohortSize)
	members := leagueMembers(m.t, m.conn, period)
	for user := range joined {
		if members[user].cohort == 0 {
			m.t.Errorf("%s: %s has submitted and has no place", period, user)
		} else if want := max(m.above[user], 1); members[user].division != want {
			m.t.Errorf("%s: %s plays in division %d, want %d", period, user, members[user].division, want)
		}
	}
	for user, p := range members {
		if !joined[user] {
			m.t.Errorf("%s: %s has a place in cohort %d and has not submitted", period, user, p.cohort)
		}
	}
	// Nothing was locked, so a cohort opened only while all others of its kind were full.
	if n := m.conn.Count(m.t, `select count(*) from (select from league_cohorts where board_id = $1 and not is_full
group by division, fill having count(*) > 1) as t`, period); n > 0 {
		m.t.Errorf("%s: %d kinds of cohorts have two that are open", period, n)
	}
}

// end compares what two nodes decide that are ended after each transaction with the naive outcomes.
func (m *leagueModel) end(period scoreboard.BoardID) {
	t := m.t
	t.Helper()
	sealCup(t, m.node(), period)
	members := leagueMembers(t, m.conn, period)
	want := naiveOutcomes(&m.rules, m.ties, members)
	if m.rules.IdleRelegated {
		var above []scoreboard.UserID
		for user := range m.above {
			above = append(above, user)
		}
		may := m.mayPlay(above)
		for user, division := range m.above {
			_, plays := members[user]
			scored := m.conn.Count(t, `select count(*) from scores where user_id = $1 and board_id = $2 and version >
    0`,
				user, period) > 0
			if may[user] && !plays && !scored {
				want[user] = fmt.Sprintf("0 of 0: %d → %d", division, division-1)
			}
		}
	}
	decideAll(t, m.nodes, 1+m.r.IntN(3*m.rules.CohortSize))
	got, to := outcomesOf(t, m.conn, period)
	for user, outcome := range want {
		if got[user] != outcome {
			t.Errorf("%s: %s ends %q, want %q", period, user, got[user], outcome)
		}
	}
	for user, outcome := range got {
		if want[user] == "" {
			t.Errorf("%s: %s ends %q, want nothing", period, user, outcome)
		}
		if m.above[user] = to[user]; to[user] == 1 {
			delete(m.above, user)
		}
	}
	stored := divisionsOf(t, m.conn, m.name)
	for user, division := range m.above {
		if stored[user] != division {
			t.Errorf("%s: %s is in division %d after it, want %d", period, user, stored[user], division)
		}
	}
	if len(stored) != len(m.above) {
		t.Errorf("%s: %v are above the lowest division, want %v", period, stored, m.above)
	}
}

// Random leagues with ties, attributes, bans, private users and erasures, on two nodes that are ended
// between the chunks of a decision: who has submitted has one place, in the right division, and who moves
// is what a naive version says. Players who come before the decision wait for it.
func TestLeaguesAreThoseOfANaiveVersion(t *testing.T) {
	t.Parallel()
	url := backends.Postgres(t, migrations.Up)
	conn := backends.Connect(t, url)
	nodes := []*store.Store{storetest.Open(t, url), storetest.Open(t, url)}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 84))
		size := 2 + r.IntN(6)
		m := &leagueModel{
			t: t, conn: conn, nodes: nodes, r: r, name: scoreboard.BoardID(fmt.Sprint("league", seed)),
			rules: scoreboard.League{
				Divisions: 2 + r.IntN(3), CohortSize: size, Min: 1 + r.IntN(min(3, size)), Promote: r.IntN(size + 1),
				Relegate: r.IntN(size + 1), IdleRelegated: r.IntN(2) == 0,
			},
			private: map[scoreboard.UserID]bool{}, erased: map[scoreboard.UserID]bool{},
			joined: map[scoreboard.UserID]bool{}, above: map[scoreboard.UserID]int{},
		}
		if r.IntN(2) == 0 {
			m.rules.Attribute = "region"
		}
		for i := range 4 + r.IntN(30) {
			m.users = append(m.users, scoreboard.UserID(fmt.Sprintf("l%d-u%d", seed, i)))
		}
		m.ties = []scoreboard.Ties{"", scoreboard.TiesShared}[m.r.IntN(2)]
		period := createLeague(t, m.node(), m.name, m.rules, m.ties)
		if m.subscores = seed%2 == 1; m.subscores {
			addSubscores(t, conn, m.name)
		}
		for n := 2; n < 6; n++ {
			m.play(r.IntN(80))
			m.checkPlaces(period, m.joined)
			next := nextSeason(t, m.node(), m.name, n)
			m.joined = map[scoreboard.UserID]bool{}
			m.play(r.IntN(20)) // their divisions are not known
			var waiting []scoreboard.UserID
			for user := range m.joined {
				waiting = append(waiting, user)
			}
			m.end(period)
			may := m.mayPlay(waiting)
			for _, user := range waiting {
				if !may[user] {
					delete(m.joined, user)
				}
			}
			m.checkPlaces(next, m.joined)
			period = next
		}
	}
}

// Many submit at once on two nodes, each player several times: each has one place, no cohort has more
// than its size, and not many more cohorts open than there are transactions.
func TestCohortsFillAtOnce(t *testing.T) {
	t.Parallel()
	url := backends.Postgres(t, migrations.Up)
	conn := backends.Connect(t, url)
	nodes := []*store.Store{storetest.Open(t, url), storetest.Open(t, url)}
	const size, players, writers = 7, 300, 6
	period := createLeague(t, nodes[0], "rush", scoreboard.League{
		Divisions: 3, CohortSize: size, Min: 3, Promote: 2, Relegate: 2,
	})
	conn.Do(t, `insert into league_divisions select 'rush', 'p' || n, 2 + n % 2 from generate_series(0, 99) as n`)
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 84))
			for i, n := range r.Perm(players) {
				var batch []scoreboard.Increment
				for j := range 1 + r.IntN(4) {
					user := scoreboard.UserID(fmt.Sprint("p", (n+j*31)%players))
					batch = append(batch, increment(user, 1, fmt.Sprintf("rush-%d-%d-%d", w, i, j), "rush"))
				}
				outcomes, err := nodes[w%2].Increments.Record(t.Context(), batch)
				for _, o := range outcomes {
					err = cmp.Or(err, o.Err)
				}
				if err != nil && !errors.Is(err, scoreboard.ErrUserLocked) {
					t.Error(err)
					return
				}
			}
		})
	}
	writing.Wait()
	checkCohorts(t, conn, period, size)
	members := leagueMembers(t, conn, period)
	for n := range players {
		user, want := scoreboard.UserID(fmt.Sprint("p", n)), 1
		if n < 100 {
			want = 2 + n%2
		}
		if p := members[user]; p.cohort == 0 || p.division != want {
			t.Errorf("%s has %+v, want a place in division %d", user, p, want)
		}
	}
	n := conn.Count(t, `select count(*) from league_cohorts where board_id = $1`, period)
	if n > players/size+3*writers+3 {
		t.Errorf("%d cohorts are open for %d players", n, players)
	}
}

// Players come to the next period while the one before is decided, on two nodes that are ended between
// the chunks: none of them waits for ever.
func TestNobodyWaitsAfterTheDecision(t *testing.T) {
	t.Parallel()
	url := backends.Postgres(t, migrations.Up)
	conn := backends.Connect(t, url)
	nodes := []*store.Store{storetest.Open(t, url), storetest.Open(t, url)}
	const size, players = 5, 40
	period := createLeague(t, nodes[0], "turn", scoreboard.League{
		Divisions: 3, CohortSize: size, Min: 1, Promote: 2, Relegate: 2,
	})
	for n := range players {
		record(t, nodes[0], increment(scoreboard.UserID(fmt.Sprint("p", n)), int64(1+n), fmt.Sprint("one", n), "turn"))
	}
	for round := 2; round < 8; round++ {
		next := nextSeason(t, nodes[0], "turn", round)
		var writing sync.WaitGroup
		var decided atomic.Bool
		for w := range 4 {
			writing.Go(func() {
				for n := w; n < 400 && (n < players || !decided.Load()); n += 4 {
					user := scoreboard.UserID(fmt.Sprint("p", n))
					_, err := nodes[w%2].Increments.Record(t.Context(), []scoreboard.Increment{
						increment(user, int64(1+n%7), fmt.Sprintf("two-%d-%d", round, n), "turn"),
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		sealCup(t, nodes[0], period)
		decideAll(t, nodes, 2*size)
		decided.Store(true)
		writing.Wait()
		if n := conn.Count(t, `select count(*) from league_members where cohort_id is null and board_id = $1`,
			next); n > 0 {
			t.Errorf("%s: %d players wait", next, n)
		}
		if n := conn.Count(t, `select count(*) from scores where board_id = $1`, next); int(n) !=
			len(leagueMembers(t, conn, next)) {
			t.Errorf("%s: %d players have scores, %d a place", next, n, len(leagueMembers(t, conn, next)))
		}
		checkCohorts(t, conn, next, size)
		period = next
	}
}

// newestOutcomes returns the newest outcome of each player of a period.
func newestOutcomes(t *testing.T, conn *backends.Conn, period scoreboard.BoardID) map[scoreboard.UserID]string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `select distinct on (user_id) user_id, coalesce(rank, 0), players,
    from_division,
    from_division + step from league_outcomes where board_id = $1 order by user_id, revision desc`, period)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[scoreboard.UserID]string)
	var user scoreboard.UserID
	var rank, players, before, after int
	if _, err = pgx.ForEachRow(rows, []any{&user, &rank, &players, &before, &after}, func() error {
		if out[user] = fmt.Sprintf("%d of %d: %d → %d", rank, players, before, after); rank == 0 {
			out[user] = "no standing"
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// recomputeAll recomputes a period, and returns how many outcomes differ.
func recomputeAll(t *testing.T, s *store.Store, period scoreboard.BoardID, why *scoreboard.AuditEntry) (differ int) {
	t.Helper()
	b, err := s.Boards.FindBoard(t.Context(), period)
	if err != nil {
		t.Fatal(err)
	}
	for after := int64(0); ; {
		found, next, err := s.Leagues.RecomputeLeague(t.Context(), b, after, why)
		if err != nil {
			t.Fatal(err)
		}
		differ += len(found)
		if after = next; after == 0 {
			return differ
		}
	}
}

// A void of random events after the decision: what is recomputed is what a naive version decides without them, and
// without those that were reversed before the end; nothing moves without an audit entry, nothing twice, and after an
// undo all is as it was decided.
func TestLeagueIsRecomputed(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 184))
		size := 2 + r.IntN(6)
		rules := scoreboard.League{
			Divisions: 3, CohortSize: size, Min: 1 + r.IntN(2), Promote: r.IntN(size + 1), Relegate: r.IntN(size + 1),
		}
		name := scoreboard.BoardID(fmt.Sprint("redo", seed))
		ties := []scoreboard.Ties{"", scoreboard.TiesShared}[seed%2]
		period := createLeague(t, s, name, rules, ties)
		subscores := seed%4 > 1
		if subscores {
			addSubscores(t, conn, name)
		}
		conn.Do(t, `insert into league_divisions select $1, $2 || n, 2 + n % 2 from generate_series(0, 9) as n`,
			string(name), fmt.Sprintf("r%d-u", seed))
		for i := range 60 {
			user := scoreboard.UserID(fmt.Sprintf("r%d-u%d", seed, r.IntN(20)))
			one := increment(user, 1+r.Int64N(3), fmt.Sprint("e", i), name)
			if subscores {
				one.Subscore = new(scoreboard.Score(r.Int64N(3) - 1))
			}
			record(t, s, one)
			if r.IntN(4) == 0 {
				if _, _, err := s.Corrections.Reverse(t.Context(), user, one.Event, scoreboard.Reversing{},
					because("event.reverse", user)); err != nil {
					t.Fatal(err)
				}
			}
		}
		nextSeason(t, s, name, 2)
		sealCup(t, s, period)
		decideAll(t, []*store.Store{s}, 1000)
		decided, before := newestOutcomes(t, conn, period), divisionsOf(t, conn, name)
		if n := recomputeAll(t, s, period, nil); n > 0 {
			t.Fatalf("seed %d: %d outcomes differ before the void", seed, n)
		}
		members := leagueMembers(t, conn, period)
		conn.Do(t, `with v as (insert into voids (key_id, starts, ends, reason, who, state, done_at)
    values ('k', now() - interval '1 hour', now(), 'a test', 'root', 'done', now()) returning id)
insert into void_events (void_id, user_id, event_id, state)
select v.id, user_id, event_id, 'skipped' from v, user_score_histories
where board_id = $1 and source <> 'admin' and ('x' || substr(md5(event_id::text), 1, 4))::bit(16)::int % 3 = 0`, period)
		// Who has no event that the void names, but such as were reversed before, keeps the sealed standing.
		rows, err := conn.Query(t.Context(), `select m.user_id, coalesce(-sum(h.delta), 0)::bigint,
    coalesce(-sum(h.subscore), 0)::bigint,
    coalesce(max(h.recorded_at), now())
from league_members as m left join user_score_histories as h on h.user_id = m.user_id and h.board_id = m.board_id
    and h.source <> 'admin' and not exists (select from void_events as e
        where e.user_id = h.user_id and e.event_id = h.event_id)
    and not exists (select from reversals as r where r.user_id = h.user_id and r.event_id = h.event_id)
where m.board_id = $1 and exists (select from void_events as e where e.user_id = m.user_id and not exists (
    select from reversals as r where r.user_id = e.user_id and r.event_id = e.event_id))
group by m.user_id`, period)
		if err != nil {
			t.Fatal(err)
		}
		left := maps.Clone(members)
		var user scoreboard.UserID
		var key, subKey int64
		var at time.Time
		if _, err := pgx.ForEachRow(rows, []any{&user, &key, &subKey, &at}, func() error {
			p := members[user]
			if p.at.Key, p.at.SubKey, p.at.ReachedAt = key, subKey, at; key == 0 {
				p.ranked = false
			}
			left[user] = p
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		want := naiveOutcomes(&rules, ties, left)
		differ := recomputeAll(t, s, period, nil)
		if got := newestOutcomes(t, conn, period); !maps.Equal(got, decided) {
			t.Fatalf("seed %d: a preview has changed outcomes", seed)
		}
		why := &scoreboard.AuditEntry{
			Actor: "root", Action: "league.recompute", Target: "board:" + string(period), Reason: fmt.Sprint("seed ",
				seed),
		}
		if n := recomputeAll(t, s, period, why); n != differ {
			t.Errorf("seed %d: %d outcomes differ, the preview said %d", seed, n, differ)
		}
		entries := conn.Count(t, `select count(*) from audit_log where action = 'league.recompute' and target = $1`,
			why.Target)
		if differ > 0 && entries == 0 {
			t.Errorf("seed %d: no audit entry for %d outcomes", seed, differ)
		}
		got := newestOutcomes(t, conn, period)
		for user, was := range decided {
			outcome := cmp.Or(want[user], "no standing")
			if got[user] != outcome {
				t.Errorf("seed %d: %s was %q, is now %q, want %q", seed, user, was, got[user], outcome)
			}
		}
		// Nobody has been decided about since, so divisions follow from the outcomes.
		for user, division := range divisionsOf(t, conn, name) {
			if !strings.HasSuffix(got[user], fmt.Sprint("→ ", division)) && got[user] != "no standing" &&
				got[user] != "" {
				t.Errorf("seed %d: %s is in division %d after %q", seed, user, division, got[user])
			}
		}
		if n := recomputeAll(t, s, period, why); n != 0 {
			t.Errorf("seed %d: %d outcomes differ again", seed, n)
		}
		conn.Do(t, `update voids set state = 'undone'`)
		recomputeAll(t, s, period, why)
		if got := newestOutcomes(t, conn, period); !maps.Equal(got, decided) {
			t.Errorf("seed %d: after the undo got %v, want %v", seed, got, decided)
		}
		if after := divisionsOf(t, conn, name); !maps.Equal(after, before) {
			t.Errorf("seed %d: after the undo divisions are %v, want %v", seed, after, before)
		}
	}
}

// More newcomers than one step places come between any two steps of a decision. It ends nevertheless, and all of them
// have a place.
func TestNewcomersDelayNoDecision(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	rules := smallLeague(t)
	rules.CohortSize = 50
	period := createLeague(t, s, "rush", rules)
	for i := range 4 {
		record(t, s, increment(scoreboard.UserID(fmt.Sprint("p", i)), int64(1+i), fmt.Sprint("e", i), "rush"))
	}
	next := nextSeason(t, s, "rush", 2)
	sealCup(t, s, period)
	const size = 100
	steps := 0
	_, err := s.Leagues.DecideLeague(t.Context(), period, size, func(context.Context) error {
		if steps++; steps > 40 {
			return errors.New("the decision does not end")
		}
		batch := make([]scoreboard.Increment, size+50)
		for i := range batch {
			batch[i] = increment(scoreboard.UserID(fmt.Sprintf("n%d-%d", steps, i)), 1, "first", "rush")
		}
		for _, o := range record(t, s, batch...) {
			if o.Err != nil {
				return o.Err
			}
		}
		return nil
	})
	if err != nil {
		t.Errorf("after %d steps: %v", steps, err)
	}
	if n := conn.Count(t, `select count(*) from league_members where board_id = $1 and cohort_id is null`,
		next); n > 0 {
		t.Errorf("%d players wait", n)
	}
	if got, want := len(leagueMembers(t, conn, next)), steps*(size+50); got != want {
		t.Errorf("%d players have a place, want %d", got, want)
	}
	checkCohorts(t, conn, next, rules.CohortSize)
	if due, err := s.Leagues.DueLeagues(t.Context()); err != nil || len(due) > 0 {
		t.Errorf("still due: %v, %v", due, err)
	}
}

// Players without a submission have no cohort, nor have those who wait until the period before has been decided.
func TestPlayersWithoutACohort(t *testing.T) {
	t.Parallel()
	s, _ := storetest.New(t)
	one := createLeague(t, s, "stars", scoreboard.League{Divisions: 2, CohortSize: 10, Min: 2, Promote: 1, Relegate: 1})
	record(t, s, increment("ada", 5, "e1", "stars"), increment("bob", 5, "e1", "stars"))
	two := nextSeason(t, s, "stars", 2)
	record(t, s, increment("cy", 5, "e2", "stars"))
	users := []scoreboard.UserID{"ada", "bob", "cy", "dan"}
	for period, want := range map[scoreboard.BoardID][]scoreboard.UserID{one: users[2:], two: users} {
		none, err := s.Leagues.Unplaced(t.Context(), period, users)
		if slices.Sort(none); err != nil || !slices.Equal(none, want) {
			t.Errorf("%s: got %v, %v, want %v", period, none, err, want)
		}
	}
}
