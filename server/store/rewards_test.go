package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// cup is a family of one season, in which users have scores.
func cup(t *testing.T, s *store.Store, name scoreboard.BoardID, order scoreboard.Order, tiers scoreboard.Tiers,
	scores map[scoreboard.UserID]int64, ties ...scoreboard.Ties,
) scoreboard.BoardID {
	t.Helper()
	return cupOf(t, s, &scoreboard.Board{ID: name, Order: order, Tiers: tiers, Ties: cmp.Or(ties...)}, scores,
		func(scoreboard.UserID) *scoreboard.Score { return nil })
}

// cupOf is cup for a board that may have subscores.
func cupOf(t *testing.T, s *store.Store, board *scoreboard.Board, scores map[scoreboard.UserID]int64,
	subscore func(scoreboard.UserID) *scoreboard.Score,
) scoreboard.BoardID {
	t.Helper()
	name, now := board.ID, time.Now()
	board.Mode, board.Period, board.TimeZone = scoreboard.ModeLatest, scoreboard.PeriodSeason, "UTC"
	board.WeekStart, board.MaxDelta, board.MaxScore, board.Public = time.Monday, 1000, scoreboard.MaxScore, true
	if board.HasSubscores() {
		board.MinSubscore, board.MaxSubscore = -scoreboard.MaxScore, scoreboard.MaxScore
	}
	_, err := s.Boards.CreateBoard(t.Context(), board, &scoreboard.Span{
		Name: "one", Start: now.Add(-time.Hour), End: now.Add(time.Hour),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var batch []scoreboard.Increment
	for user, score := range scores {
		in := increment(user, score, "of-"+string(name), name)
		in.Subscore = subscore(user)
		batch = append(batch, in)
	}
	if len(batch) == 0 {
		return name + ":one"
	}
	for _, o := range record(t, s, batch...) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	return name + ":one"
}

// endCup ends the season now, and seals its standings.
func endCup(t *testing.T, s *store.Store, conn *backends.Conn, id scoreboard.BoardID) {
	t.Helper()
	conn.Do(t, `update boards set period_end = clock_timestamp() where board_id = $1`, id)
	sealCup(t, s, id)
}

func sealCup(t *testing.T, s *store.Store, id scoreboard.BoardID) {
	t.Helper()
	b, err := s.Boards.FindBoard(t.Context(), id)
	if err == nil {
		err = s.Boards.CloseBoard(t.Context(), b)
	}
	for sealed := false; err == nil && !sealed; {
		if _, err = s.Boards.CopyStandings(t.Context(), id, 10, anyTime); err == nil {
			sealed, err = s.Boards.SealStandings(t.Context(), id)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func anyTime(ctx context.Context) error { return ctx.Err() }

func because(action string, user scoreboard.UserID) *scoreboard.AuditEntry {
	return &scoreboard.AuditEntry{Actor: "root", Action: action, Target: scoreboard.AuditUser(user), Reason: "a test"}
}

func setRewards(t *testing.T, s *store.Store, table scoreboard.RewardTable) {
	t.Helper()
	if table.Expires == 0 {
		table.Expires = time.Hour
	}
	if _, err := s.Rewards.SetRewards(t.Context(), &table, nil); err != nil {
		t.Fatal(err)
	}
}

// finalUser is what the naive version of rewards knows about a user.
type finalUser struct {
	rank      int64
	user      scoreboard.UserID
	score     scoreboard.Score
	unable    bool // banned or erased
	isPrivate bool
	division  int
	at        scoreboard.Position
}

// finalUsers returns the users in final standings, best first, and then those who have left the boards.
func finalUsers(t *testing.T, conn *backends.Conn, id scoreboard.BoardID) (ranked, left []finalUser) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `select coalesce(b.rank, 0), user_id, score, status in ('banned', 'erased'),
    private, coalesce((select c.division from league_members as m join league_cohorts as c using (cohort_id)
        where m.user_id = s.user_id and m.board_id = s.board_id), 0), s.order_key, s.sub_key, s.reached_at
from scores as s join users using (user_id) left join board_standings as b using (board_id, user_id, score)
where board_id = $1 and (b.rank is not null or private) and version > 0
union all select rank, user_id, score, true, false, 0, order_key, sub_key, reached_at from board_standings
where board_id = $1 and user_id like 'erased-%' order by 1`, id)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (u finalUser, err error) {
		err = row.Scan(&u.rank, &u.user, &u.score, &u.unable, &u.isPrivate, &u.division, &u.at.Key,
			&u.at.SubKey, &u.at.ReachedAt)
		u.at.User = u.user
		return u, err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range all {
		if u.rank == 0 {
			left = append(left, u)
		} else {
			ranked = append(ranked, u)
		}
	}
	if n := conn.Count(t, `select count(*) from board_standings where board_id = $1`, id); n != int64(len(ranked)) {
		t.Fatalf("%s has %d standings, the test knows %d", id, n, len(ranked))
	}
	return ranked, left
}

// naiveRewards is who gets what, as "rank reward", decided for each user alone. One who has left the boards has
// the rank of the score.
func naiveRewards(table *scoreboard.RewardTable, tiers scoreboard.Tiers, b *scoreboard.Board,
	ranked, left []finalUser,
) map[scoreboard.UserID]string {
	total := int64(len(ranked))
	wins := make(map[scoreboard.UserID]string)
	for _, u := range slices.Concat(ranked, left) {
		if u.unable || u.isPrivate && !table.Private {
			continue
		}
		if u.rank == 0 || b.SharesRanks() {
			u.rank = 1
			for _, other := range ranked {
				better := other.at.Key < u.at.Key || other.at.Key == u.at.Key && other.at.SubKey < u.at.SubKey
				if better || !b.SharesRanks() && other.at.Compare(&u.at) < 0 {
					u.rank++
				}
			}
		}
		tier := tiers.Name(tiers.Of(b.Order, u.rank, total, u.score))
		for _, b := range table.Bands {
			if b.LastRank != 0 && b.FirstRank <= u.rank && u.rank <= b.LastRank ||
				b.Percent != 0 && (u.rank-1)*100_000 < b.Percent*total || b.Tier != "" && b.Tier == tier ||
				b.Division != 0 && b.Division == u.division {
				wins[u.user] = fmt.Sprint(u.rank, " ", b.Reward)
				break
			}
		}
	}
	return wins
}

// granted returns the grants of a period, as "rank reward" by user, and fails where a user has two.
func granted(t *testing.T, conn *backends.Conn, id scoreboard.BoardID) map[scoreboard.UserID]string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `select g.user_id, coalesce(g.rank || ' ', '') || coalesce(g.reward, b.reward)
from reward_grants as g left join reward_bands as b using (table_id, band) where board_id = $1`, id)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[scoreboard.UserID]string)
	var user scoreboard.UserID
	var reward string
	_, err = pgx.ForEachRow(rows, []any{&user, &reward}, func() error {
		if got[user] != "" {
			t.Errorf("%s: %s has two rewards, %s and %s", id, user, got[user], reward)
		}
		got[user] = reward
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

var errKilled = errors.New("the process ended")

// grantAll grants what is due on several nodes at once, each of which is ended after a transaction, then after
// two, and so on.
func grantAll(t *testing.T, s *store.Store, nodes, size int, between func()) {
	t.Helper()
	endPeriods(t, slices.Repeat([]*store.Store{s}, nodes), between,
		func(s *store.Store) ([]scoreboard.DuePeriod, error) { return s.Rewards.DueRewards(t.Context()) },
		func(s *store.Store, id scoreboard.BoardID, next func(context.Context) error) error {
			_, err := s.Rewards.GrantRewards(t.Context(), id, size, next)
			return err
		})
}

// randomBands are by rank, percentile, and tier or, with divisions, division.
func randomBands(r *rand.Rand, divisions int) (bands []scoreboard.RewardBand) {
	for i := range r.IntN(7) {
		b := scoreboard.RewardBand{Reward: fmt.Sprintf(`{"gems":%d}`, i)}
		switch kind := r.IntN(3); {
		case kind == 0:
			b.FirstRank = 1 + r.Int64N(30)
			b.LastRank = b.FirstRank + r.Int64N(20)
		case kind == 1:
			b.Percent = 1 + r.Int64N(100_000)
		case divisions > 0:
			b.Division = 1 + r.IntN(divisions)
		default:
			b.Tier = []string{"gold", "silver", "bronze"}[r.IntN(3)]
		}
		bands = append(bands, b)
	}
	return bands
}

func randomTiers(r *rand.Rand) scoreboard.Tiers {
	tiers := make(scoreboard.Tiers, 3)
	for i, name := range []string{"gold", "silver", "bronze"} {
		tiers[i].Name = name
		switch r.IntN(3) {
		case 0:
			tiers[i].Rank = 1 + r.Int64N(40)
		case 1:
			tiers[i].Percent = 1 + r.Int64N(100_000)
		default:
			tiers[i].Score = new(scoreboard.Score(r.Int64N(10)))
		}
	}
	return tiers
}

// Random periods, with ties, bans, erasures and private users, whose rewards two nodes grant that are ended
// after each chunk: each winner by the table at the end of the period has one reward, nobody else any.
func TestRewardsAreThoseOfANaiveVersion(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 12 })
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 43))
		name := scoreboard.BoardID(fmt.Sprint("cup", seed))
		order := []scoreboard.Order{scoreboard.OrderHighest, scoreboard.OrderLowest}[r.IntN(2)]
		tiers := randomTiers(r)
		scores := make(map[scoreboard.UserID]int64)
		var users []scoreboard.UserID
		for i := range r.IntN(60) {
			user := scoreboard.UserID(fmt.Sprintf("s%d-u%d", seed, i))
			users = append(users, user)
			scores[user] = r.Int64N(10)
		}
		ties := []scoreboard.Ties{"", scoreboard.TiesShared}[r.IntN(2)]
		id := cupOf(t, s, &scoreboard.Board{
			ID: name, Order: order, Tiers: tiers, Ties: ties,
			Subscore: []scoreboard.Order{"", scoreboard.OrderHighest, scoreboard.OrderLowest}[seed%3],
		}, scores, func(scoreboard.UserID) *scoreboard.Score {
			if seed%3 == 0 {
				return nil
			}
			return new(scoreboard.Score(r.Int64N(3) - 1))
		})
		erased := make(map[scoreboard.UserID]bool)
		moderate := func(user scoreboard.UserID) {
			var err error
			switch r.IntN(5) {
			case 0:
				_, err = s.Moderation.Ban(t.Context(), user, because("user.ban", user))
			case 1:
				_, err = s.Moderation.Freeze(t.Context(), user, because("user.freeze", user))
			case 2:
				_, _, err = s.Visibility.Put(t.Context(), user, scoreboard.VisibilityPrivate, nil)
			case 3:
				_, err = s.Privacy.BeginErasure(t.Context(), user, because("user.erase", user))
				erased[user] = true
			}
			// Some moves are none for a banned or erased user.
			refused := []wire.Code{wire.CodeGone, wire.CodeConflict, wire.CodeForbidden}
			if err != nil && !slices.Contains(refused, wire.CodeOf(err)) {
				t.Fatal(err)
			}
		}
		for _, user := range users { // before the end
			if r.IntN(4) == 0 {
				moderate(user)
			}
		}
		setRewards(t, s, scoreboard.RewardTable{Board: name, Bands: randomBands(r, 0)})
		table := scoreboard.RewardTable{Board: name, Bands: randomBands(r, 0), Private: r.IntN(2) == 0}
		setRewards(t, s, table)
		conn.Do(t, `update boards set period_end = clock_timestamp() where board_id = $1`, id)
		setRewards(t, s, scoreboard.RewardTable{Board: name, Bands: randomBands(r, 0)}) // too late
		sealCup(t, s, id)
		for _, user := range users { // after the end
			if r.IntN(6) == 0 {
				moderate(user)
			}
		}
		ranked, left := finalUsers(t, conn, id)
		want := naiveRewards(&table, tiers, &scoreboard.Board{Order: order, Ties: ties}, ranked, left)
		var once sync.Once
		grantAll(t, s, 2, 1+r.IntN(12), func() {
			once.Do(func() { // an erasure during the grants
				if len(users) > 0 {
					erased[users[0]] = true
					_, err := s.Privacy.BeginErasure(t.Context(), users[0], because("user.erase", users[0]))
					if err != nil {
						t.Error(err)
					}
				}
			})
		})
		got := granted(t, conn, id)
		for user := range erased {
			delete(want, user)
		}
		for user, reward := range want {
			if got[user] != reward {
				t.Errorf("seed %d: %s got %q, want %q", seed, user, got[user], reward)
			}
		}
		for user, reward := range got {
			if want[user] == "" {
				t.Errorf("seed %d: %s got %q, want nothing", seed, user, reward)
			}
		}
		if differ, _ := rewardDifferences(t, s, id, "", 1+r.IntN(9)); differ != nil {
			t.Errorf("seed %d: verification finds %v", seed, differ)
		}
		if n := conn.Count(t, `select granted from reward_runs where board_id = $1`, id); n < int64(len(got)) {
			t.Errorf("seed %d: the run counts %d grants of %d", seed, n, len(got))
		}
	}
}

// A claim is done once, also at the same time, and says the same again.
func TestRewardIsClaimedOnce(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	id := cup(t, s, "cup", scoreboard.OrderHighest, nil, map[scoreboard.UserID]int64{
		"ada": 9, "bob": 8, "cy": 7, "dan": 6, "eve": 5,
	})
	setRewards(t, s, scoreboard.RewardTable{
		Board: "cup", Bands: []scoreboard.RewardBand{{FirstRank: 1, LastRank: 5, Reward: `{"gems": 5.0}`}},
	})
	endCup(t, s, conn, id)
	grantAll(t, s, 1, 100, func() {})
	of := func(user scoreboard.UserID) scoreboard.RewardGrant {
		list, err := s.Rewards.UserRewards(t.Context(), user, "", 0, 10)
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: got %+v, %v, want one reward", user, list, err)
		}
		return list[0]
	}
	ada := of("ada")
	if ada.Rank != 1 || ada.Reward != `{"gems": 5.0}` || ada.State != scoreboard.RewardClaimable || ada.Revision != 1 ||
		ada.Board != id || ada.Expires.Sub(ada.Granted) != time.Hour {
		t.Errorf("got %+v", ada)
	}
	receipts := make([]scoreboard.RewardGrant, 20)
	var claiming sync.WaitGroup
	for i := range receipts {
		claiming.Go(func() {
			var err error
			if receipts[i], err = s.Rewards.Claim(t.Context(), "ada", ada.ID); err != nil {
				t.Error(err)
			}
		})
	}
	claiming.Wait()
	all := slices.Compact(receipts)
	if len(all) != 1 || all[0].State != scoreboard.RewardClaimed || all[0].Claimed.IsZero() {
		t.Errorf("got the receipts %+v, want one", all)
	}
	claim := func(user scoreboard.UserID, id int64, want wire.Code) {
		t.Helper()
		if _, err := s.Rewards.Claim(t.Context(), user, id); wire.CodeOf(err) != want {
			t.Errorf("%s claims %d: got %v, want %s", user, id, err, want)
		}
	}
	claim("bob", ada.ID, wire.CodeNotFound)
	claim("nobody", ada.ID, wire.CodeNotFound)
	why := func(g *scoreboard.RewardGrant) *scoreboard.AuditEntry { return because("reward.revoke", g.User) }
	if _, err := s.Rewards.Revoke(t.Context(), ada.ID, why); wire.CodeOf(err) != wire.CodeConflict {
		t.Errorf("revoke a claimed reward: got %v, want a conflict", err)
	}
	bob := of("bob")
	for range 2 {
		if g, err := s.Rewards.Revoke(t.Context(), bob.ID, why); err != nil || g.State != scoreboard.RewardRevoked {
			t.Errorf("got %+v, %v", g, err)
		}
	}
	claim("bob", bob.ID, wire.CodeConflict)
	again := &scoreboard.RewardGrant{Board: id, User: "bob", Reward: "1"}
	g, err := s.Rewards.Grant(t.Context(), again, time.Hour, because("reward.grant", "bob"))
	if err != nil || g.ID <= bob.ID || g.Reward != "1" || g.Rank != 0 {
		t.Errorf("granted again: %+v, %v", g, err)
	}
	if _, err := s.Rewards.Grant(t.Context(), again, time.Hour, nil); wire.CodeOf(err) != wire.CodeConflict {
		t.Errorf("a second reward: got %v, want a conflict", err)
	}
	claim("bob", bob.ID, wire.CodeNotFound)
	claim("bob", g.ID, "")
	if _, err := s.Moderation.Ban(t.Context(), "cy", because("user.ban", "cy")); err != nil {
		t.Fatal(err)
	}
	claim("cy", of("cy").ID, wire.CodeForbidden)
	conn.Do(t, `update reward_grants set expires_at = clock_timestamp() where user_id = 'dan'`)
	claim("dan", of("dan").ID, wire.CodeGone)
	if of("dan").State != scoreboard.RewardExpired {
		t.Errorf("got %+v, want expired", of("dan"))
	}
	eve := of("eve")
	if _, err := s.Privacy.BeginErasure(t.Context(), "eve", because("user.erase", "eve")); err != nil {
		t.Fatal(err)
	}
	claim("eve", eve.ID, wire.CodeGone)
	if n := conn.Count(t, `select count(*) from reward_grants where grant_id = $1`, eve.ID); n != 0 {
		t.Error("the erased user's reward is there")
	}
	list, _, err := s.Rewards.BoardRewards(t.Context(), id, "", "ada", 2)
	if err != nil || len(list) != 2 || list[0].User != "bob" {
		t.Errorf("got %+v, %v", list, err)
	}
}

// Only boards with periods and their own tiers have tables; a period keeps that of its end.
func TestTablesOfRewards(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	id := cup(t, s, "cup", scoreboard.OrderHighest, nil, map[scoreboard.UserID]int64{"ada": 9})
	createLeague(t, s, "stars", smallLeague(t))
	table := func(board scoreboard.BoardID, b scoreboard.RewardBand) *scoreboard.RewardTable {
		b.Reward = "1"
		return &scoreboard.RewardTable{Board: board, Expires: time.Hour, Bands: []scoreboard.RewardBand{b}}
	}
	first := scoreboard.RewardBand{FirstRank: 1, LastRank: 1}
	for _, bad := range []*scoreboard.RewardTable{
		table("global", first), table("cup", scoreboard.RewardBand{Tier: "gold"}),
		table("cup", scoreboard.RewardBand{Division: 1}), table("stars", scoreboard.RewardBand{Division: 4}),
	} {
		if _, err := s.Rewards.SetRewards(t.Context(), bad, nil); wire.CodeOf(err) != wire.CodeInvalidRequest {
			t.Errorf("%+v: got %v, want an invalid_request", bad, err)
		}
	}
	if _, err := s.Rewards.SetRewards(t.Context(), table("none", first), nil); wire.CodeOf(err) != wire.CodeNotFound {
		t.Errorf("got %v, want a not_found", err)
	}
	of := func(id scoreboard.BoardID) *scoreboard.RewardTable {
		t.Helper()
		b, err := s.Boards.FindBoard(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		found, err := s.Rewards.Rewards(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if got := of("cup"); len(got.Bands) != 0 || !got.Since.IsZero() {
		t.Errorf("got %+v, want none", got)
	}
	setRewards(t, s, *table("cup", first))
	conn.Do(t, `update boards set period_end = clock_timestamp() where board_id = $1`, id)
	setRewards(t, s, scoreboard.RewardTable{Board: "cup"}) // removed
	if got := of("cup"); len(got.Bands) != 0 || got.Since.IsZero() {
		t.Errorf("got %+v, want none any more", got)
	}
	if got := of(id); len(got.Bands) != 1 || got.Bands[0].LastRank != 1 {
		t.Errorf("the period: got %+v, want the table of its end", got)
	}
	sealCup(t, s, id)
	grantAll(t, s, 1, 100, func() {})
	if got := granted(t, conn, id); len(got) != 1 || got["ada"] != "1 1" {
		t.Errorf("got %v, want one reward of ada", got)
	}
	// A period that ended a moment before the first table has nothing to grant, and delays no later one.
	early := cup(t, s, "early", scoreboard.OrderHighest, nil, map[scoreboard.UserID]int64{"ada": 9})
	endCup(t, s, conn, early)
	setRewards(t, s, *table("early", first))
	conn.Do(t, `update reward_boards set granted_until = '-infinity' where board_id = 'early'`)
	if due, err := s.Rewards.DueRewards(t.Context()); err != nil || len(due) != 0 {
		t.Errorf("got %v, %v, want nothing due", due, err)
	}
}
