package store_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// signedBy records an event of a user on the running season of a cup.
func signedBy(t *testing.T, s *store.Store, key string, user scoreboard.UserID, score int64, name scoreboard.BoardID) {
	t.Helper()
	in := increment(user, score, fmt.Sprintf("%s-%s-%s", name, key, user), name)
	in.KeyID = key
	if out := record(t, s, in); out[0].Err != nil {
		t.Fatal(out[0].Err)
	}
}

func byKey(key string) scoreboard.Sender {
	return scoreboard.Sender{KeyID: key, From: time.Now().Add(-time.Hour), To: time.Now()}
}

func beginVoid(t *testing.T, s *store.Store, sender scoreboard.Sender) int64 {
	t.Helper()
	v, err := s.Corrections.CreateVoid(t.Context(), sender, because("void.create", ""))
	if err != nil {
		t.Fatal(err)
	}
	return v.ID
}

func beginUndo(t *testing.T, s *store.Store, id int64) {
	t.Helper()
	if _, err := s.Corrections.UndoVoid(t.Context(), id, because("void.undo", "")); err != nil {
		t.Fatal(err)
	}
}

// workVoids runs all voids to their end. It may be called at once by several.
func workVoids(t *testing.T, s *store.Store, conn *backends.Conn) {
	t.Helper()
	for t.Context().Err() == nil {
		v, err := s.Corrections.ClaimVoid(t.Context(), time.Minute)
		if err != nil {
			t.Error(err)
			return
		}
		if v == nil {
			if conn.Count(t, `select count(*) from voids where state in ('listing', 'reversing', 'undoing')`) == 0 {
				return
			}
			time.Sleep(5 * time.Millisecond)
			continue
		}
		for more := true; more; {
			if more, err = s.Corrections.StepVoid(t.Context(), v, time.Minute); err != nil {
				t.Error(err)
				return
			}
		}
		if err := s.Corrections.ReleaseVoid(t.Context(), v, nil); err != nil {
			t.Error(err)
			return
		}
	}
}

// stateOf is the state of a user's only reward of a period, and whether it is flagged.
func stateOf(t *testing.T, s *store.Store, user scoreboard.UserID) (g scoreboard.RewardGrant) {
	t.Helper()
	list, err := s.Rewards.UserRewards(t.Context(), user, "", 0, 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: got %+v, %v, want one reward", user, list, err)
	}
	return list[0]
}

// A void takes the rewards of its users back: those that nobody has claimed cannot be claimed, the others
// are flagged. Its undo restores both.
func TestVoidTakesRewardsBack(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	id := cup(t, s, "cup", scoreboard.OrderHighest, nil, nil)
	for user, key := range map[scoreboard.UserID]string{"ada": "7", "bob": "8", "cy": "7", "dan": "8"} {
		signedBy(t, s, key, user, int64(user[0]), "cup")
	}
	setRewards(t, s, scoreboard.RewardTable{
		Board: "cup", Bands: []scoreboard.RewardBand{{FirstRank: 1, LastRank: 3, Reward: `{"gems":5}`}},
	})
	signedBy(t, s, "7", "bob", 1, "cup") // the last submission is the score: ada, dan, cy, bob
	endCup(t, s, conn, id)
	grantAll(t, s, 1, 2, func() {})
	dan := stateOf(t, s, "dan")
	if _, err := s.Rewards.Claim(t.Context(), "dan", dan.ID); err != nil {
		t.Fatal(err)
	}
	signedBy(t, s, "9", "eve", 1, scoreboard.GlobalBoard)
	for _, sender := range []scoreboard.Sender{byKey("7"), byKey("8"), byKey("9")} {
		p, err := s.Corrections.PreviewVoid(t.Context(), sender)
		want := map[string]scoreboard.VoidedRewards{"7": {Revoked: 2}, "8": {Flagged: 1}, "9": {}}[sender.KeyID]
		if err != nil || p.Rewards.Revoked != want.Revoked || p.Rewards.Flagged != want.Flagged ||
			int64(len(p.Rewards.First)) != want.Revoked+want.Flagged {
			t.Errorf("preview of %s: got %+v, %v, want %+v", sender.KeyID, p.Rewards, err, want)
		}
	}
	void := beginVoid(t, s, byKey("7"))
	workVoids(t, s, conn)
	other := beginVoid(t, s, byKey("8"))
	workVoids(t, s, conn)
	cy := stateOf(t, s, "cy")
	if _, err := s.Rewards.Claim(t.Context(), "cy", cy.ID); wire.CodeOf(err) != wire.CodeConflict {
		t.Errorf("a claim of a reward that was taken back: got %v, want a conflict", err)
	}
	if g := stateOf(t, s, "cy"); g.State != scoreboard.RewardRevoked || g.Flagged {
		t.Errorf("cy: got %+v, want revoked", g)
	}
	if g := stateOf(t, s, "dan"); g.State != scoreboard.RewardClaimed || !g.Flagged {
		t.Errorf("dan: got %+v, want claimed and flagged", g)
	}
	if g, err := s.Rewards.Claim(t.Context(), "dan", dan.ID); err != nil || !g.Flagged {
		t.Errorf("dan claims again: got %+v, %v, want the same receipt", g, err)
	}
	v, err := s.Corrections.Void(t.Context(), void)
	if err != nil || v.Rewards.Revoked != 2 || v.Rewards.Flagged != 0 {
		t.Errorf("got %+v, %v, want two revoked", v, err)
	}
	// What an operator grants afterwards is not the void's.
	granted, err := s.Rewards.Grant(t.Context(), &scoreboard.RewardGrant{Board: id, User: "ada", Reward: `1`},
		time.Hour, because("reward.grant", "ada"))
	if err != nil || granted.State != scoreboard.RewardClaimable {
		t.Errorf("an operator's grant: got %+v, %v", granted, err)
	}
	for _, id := range []int64{void, other} {
		beginUndo(t, s, id)
	}
	workVoids(t, s, conn)
	for user, want := range map[scoreboard.UserID]scoreboard.RewardState{
		"ada": scoreboard.RewardClaimable, "cy": scoreboard.RewardClaimable, "dan": scoreboard.RewardClaimed,
	} {
		if g := stateOf(t, s, user); g.State != want || g.Flagged {
			t.Errorf("%s after the undo: got %+v, want %s", user, g, want)
		}
	}
	if _, err := s.Rewards.Claim(t.Context(), "cy", cy.ID); err != nil {
		t.Errorf("a claim after the undo: %v", err)
	}
	if n := conn.Count(t, `select count(*) from void_rewards`); n != 0 {
		t.Errorf("%d rows remain", n)
	}
}

// Random periods, whose rewards are granted while voids of their events begin, run and are undone on two
// nodes: a reward is taken back by exactly the voids in force that reverse an event which counts in the
// final standings. A void that ended before the period did has nothing to take back.
func TestVoidsTakeBackWhatIsGrantedMeanwhile(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 16 })
	conns := []*backends.Conn{backends.Connect(t, conn.URL), backends.Connect(t, conn.URL)}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 44))
		name := scoreboard.BoardID(fmt.Sprint("cup", seed))
		id := cup(t, s, name, scoreboard.OrderHighest, nil, nil)
		keys := make([]string, 4)
		for i := range keys {
			keys[i] = fmt.Sprintf("%d-%d", seed, i)
		}
		sent := make(map[string][]scoreboard.UserID)
		early := r.IntN(2) == 0 // the first key is voided before the end
		var users []scoreboard.UserID
		for i := range 4 + r.IntN(20) {
			user := scoreboard.UserID(fmt.Sprintf("s%d-u%d", seed, i))
			users = append(users, user)
			for n, key := range keys {
				if r.IntN(3) == 0 || n == 3 {
					signedBy(t, s, key, user, 1+r.Int64N(50), name)
					sent[key] = append(sent[key], user)
				}
			}
		}
		setRewards(t, s, scoreboard.RewardTable{
			Board: name, Bands: []scoreboard.RewardBand{{Percent: 100_000, Reward: `1`}},
		})
		if early && len(sent[keys[0]]) > 0 {
			beginVoid(t, s, byKey(keys[0]))
			workVoids(t, s, conn)
		}
		endCup(t, s, conn, id)
		sender := map[string]scoreboard.Sender{}
		for _, key := range keys {
			sender[key] = byKey(key)
		}
		voids := make(map[string]int64)
		var begun sync.Mutex
		var once [3]sync.Once
		void := func(n int) {
			once[n].Do(func() {
				if len(sent[keys[n]]) > 0 && (n > 0 || !early) {
					begun.Lock()
					voids[keys[n]] = beginVoid(t, s, sender[keys[n]])
					begun.Unlock()
				}
			})
		}
		if r.IntN(2) == 0 {
			void(0)
		}
		if r.IntN(3) == 0 {
			workVoids(t, s, conn)
		}
		between := make(chan int, 3)
		for _, n := range r.Perm(3) {
			between <- n
		}
		var running sync.WaitGroup
		for _, c := range conns {
			running.Go(func() { workVoids(t, s, c) })
		}
		grantAll(t, s, 2, 1+r.IntN(4), func() {
			select {
			case n := <-between:
				void(n)
			default:
			}
		})
		for n := range 3 {
			void(n)
		}
		running.Wait()
		workVoids(t, s, conn)
		want := make(map[scoreboard.UserID]int64)
		for key, id := range voids {
			if r.IntN(3) == 0 {
				beginUndo(t, s, id)
				continue
			}
			for _, user := range sent[key] {
				want[user]++
			}
		}
		workVoids(t, s, conn)
		for _, user := range users {
			got := conn.Count(t, `select voids from reward_grants where board_id = $1 and user_id = $2`, id, user)
			rows := conn.Count(t, `select count(*) from void_rewards join reward_grants using (grant_id)
where board_id = $1 and user_id = $2`, id, user)
			if got != want[user] || rows != want[user] {
				t.Errorf("seed %d, %s: taken back by %d, %d rows, want %d", seed, user, got, rows, want[user])
			}
		}
		if t.Failed() {
			return
		}
	}
}

// A grant that is being made while a void begins is not committed when the void looks for it: the void
// waits for it.
func TestVoidWaitsForGrants(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	id := cup(t, s, "cup", scoreboard.OrderHighest, nil, nil)
	signedBy(t, s, "7", "ada", 5, "cup")
	setRewards(t, s, scoreboard.RewardTable{
		Board: "cup", Bands: []scoreboard.RewardBand{{FirstRank: 1, LastRank: 3, Reward: `1`}},
	})
	endCup(t, s, conn, id)
	other := backends.Connect(t, conn.URL)
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{ // as a chunk of grants whose look at voids found none
		`select pg_advisory_xact_lock(hashtextextended('` + pg.StatusLock + `', 0))`,
		`insert into reward_grants (board_id, user_id, rank, table_id, band, revision, granted_at, expires_at)
select 'cup:one', 'ada', 1, table_id, 1, 1, now(), now() + interval '1 hour' from reward_tables`,
	} {
		if _, err := tx.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	beginVoid(t, s, byKey("7"))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		workVoids(t, s, conn)
	}()
	time.Sleep(200 * time.Millisecond)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-ended
	if g := stateOf(t, s, "ada"); g.State != scoreboard.RewardRevoked {
		t.Errorf("got %+v, want it taken back", g)
	}
}
