package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/torture/contract"
)

// The rules of the league: small cohorts, so that many players move in a short run.
const (
	leagueDivisions = 3
	leagueCohort    = 4 // players at most
	leagueMin       = 2
	leaguePromote   = 1
	leagueRelegate  = 1
)

// What players of a season get: the first that holds.
const (
	rewardDivision = `{"chest":"gold"}` // in the highest division
	rewardFirst    = `{"gems":500}`     // for ranks 1 and 2
	rewardHalf     = `{"gems":50}`      // for the better half
)

// league is the board of the stars: its seasons, and the rewards that its players have claimed.
type league struct {
	*seasons
	deliveries *deliveries

	claims sync.Mutex
	won    map[int64]claim // claimed with an answer, by the number of the reward
}

// claim is what the first answer to a claim said.
type claim struct {
	user string
	at   time.Time
}

func newLeague(s *site, p *players, d *deliveries) *league {
	return &league{
		seasons: &seasons{
			site: s, players: p, family: boardStars, users: usersOf("s", 20), every: 2 * time.Second,
		},
		deliveries: d, won: make(map[int64]claim),
	}
}

// create creates the league with its rewards.
func (r *league) create(ctx context.Context) error {
	node := r.cluster.First("api")
	board := seasonBody(r.next())
	board["board"], board["mode"], board["period"] = boardStars, "increment", "season"
	board["league"] = map[string]any{
		"divisions": leagueDivisions, "cohort_size": leagueCohort, "min": leagueMin, "promote": leaguePromote,
		"relegate": leagueRelegate,
	}
	rewards := map[string]any{"bands": []map[string]any{
		{"division": leagueDivisions, "reward": json.RawMessage(rewardDivision)},
		{"last_rank": 2, "reward": json.RawMessage(rewardFirst)},
		{"percentile": 50, "reward": json.RawMessage(rewardHalf)},
	}}
	status, err := r.server.Call(ctx, node.URL(), http.MethodPost, "/v1/boards", board, nil)
	if err == nil && status < 300 {
		path := "/v1/boards/" + boardStars + "/rewards?reason=torture"
		status, err = r.server.Call(ctx, node.URL(), http.MethodPut, path, rewards, nil)
	}
	if err != nil || status >= 300 {
		return fmt.Errorf("create league %s: status %d, %w", boardStars, status, err)
	}
	r.add(span{})
	return nil
}

// reward is a reward as lists and claims show it.
type reward struct {
	ID        int64           `json:"id"`
	UserID    string          `json:"user_id"`
	Rank      int64           `json:"rank"`
	Reward    json.RawMessage `json:"reward"`
	State     string          `json:"state"`
	ClaimedAt time.Time       `json:"claimed_at"`
	Code      string          `json:"error_code"`
}

// claimer claims rewards until ctx ends, some again: a repeat says the same.
func (r *league) claimer(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		user := r.users[rng.IntN(len(r.users))]
		var list struct {
			Rewards []reward `json:"rewards"`
		}
		state := []string{"claimable", "claimed"}[rng.IntN(2)]
		callCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
		path := "/v1/users/" + user + "/rewards?limit=100&state=" + state
		status, err := r.server.Call(callCtx, r.node(rng, "api").URL(), http.MethodGet, path, nil, &list)
		cancel()
		if err == nil && status == http.StatusOK && len(list.Rewards) > 0 {
			r.claim(ctx, rng, user, list.Rewards[rng.IntN(len(list.Rewards))].ID)
		}
		pause(ctx, time.Duration(rng.IntN(4*r.o.pauseMS+1))*time.Millisecond)
	}
}

// claim claims a reward at any node until it is answered.
func (r *league) claim(ctx context.Context, rng *rand.Rand, user string, id int64) {
	path := fmt.Sprintf("/v1/users/%s/rewards/%d/claim", user, id)
	for ctx.Err() == nil {
		var got reward
		callCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
		status, err := r.server.Call(callCtx, r.node(rng, "api").URL(), http.MethodPost, path, nil, &got)
		cancel()
		switch {
		case err != nil || !says(contract.Answer{Status: status}):
			pause(ctx, time.Duration(20+rng.IntN(100))*time.Millisecond)
			continue
		case status != http.StatusOK || got.State != "claimed" || got.ClaimedAt.IsZero():
			r.log.Violate("claim", user, "the claim of reward %d was answered with %d %s: %+v", id, status, got.Code,
				got)
			return
		}
		r.claims.Lock()
		first, known := r.won[id]
		if !known {
			r.won[id] = claim{user, got.ClaimedAt}
		}
		r.claims.Unlock()
		if known && (first.user != user || !first.at.Equal(got.ClaimedAt)) {
			r.log.Violate("claim", user, "reward %d was claimed by %s at %s, and a repeat says at %s", id, first.user,
				first.at, got.ClaimedAt)
		}
		return
	}
}

// member is where a player is in a season.
type member struct {
	State    string `json:"state"`
	Division int    `json:"division"`
	Cohort   int64  `json:"cohort"`
}

// outcome is what the end of a season has decided about a player.
type outcome struct {
	Board    string `json:"board"`
	Revision int    `json:"revision"`
	Cohort   int64  `json:"cohort"`
	Rank     int    `json:"rank"`
	Players  int    `json:"players"`
	From     int    `json:"from_division"`
	To       int    `json:"to_division"`
}

// read reads a resource at any node, until it answers and done says that it is complete, or convergeTime is over.
func read[T any](ctx context.Context, r *seasons, rng *rand.Rand, path string, done func(*T) bool) (got T, ok bool) {
	for deadline := time.Now().Add(convergeTime); ; {
		callCtx, cancel := context.WithTimeout(ctx, attemptTime)
		var answer T
		status, err := r.server.Call(callCtx, r.node(rng, "api").URL(), http.MethodGet, path, nil, &answer)
		cancel()
		if err == nil && status == http.StatusOK {
			if got = answer; done(&got) {
				return got, true
			}
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return got, false
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// check holds seasons, outcomes and rewards against what the rules say of the ledger: each player has one place in
// the division that the ends before have led to, moves once, and has one reward. Where PostgreSQL's clock was
// wrong, seasons are in the future.
func (r *league) check(ctx context.Context, rng *rand.Rand, all rows) {
	r.checkSeasons(ctx, rng, all)
	if r.storeClock.Load() {
		return
	}
	division := make(map[string]int) // of each player now
	for _, user := range r.users {
		division[user] = 1
	}
	history := make(map[string][]outcome) // that the rules say, newest first
	ended := r.all[:len(r.all)-1]
	for _, one := range ended {
		ranked := standings(one.board, all)
		cohorts := make(map[int64][]string) // best first
		for _, s := range ranked {
			m, placed := read(ctx, r.seasons, rng, "/v1/leagues/"+one.board+"/users/"+s.user, func(m *member) bool {
				return m.State == "placed"
			})
			if !placed || m.Division != division[s.user] {
				r.log.Violate("league", s.user, "in %s the place is %+v, want one in division %d", one.board, m,
					division[s.user])
			}
			cohorts[m.Cohort] = append(cohorts[m.Cohort], s.user)
		}
		r.checkRewards(ctx, rng, one.board, ranked, division)
		for id, players := range cohorts {
			if len(players) > leagueCohort {
				r.log.Violate("league", "", "cohort %d of %s has the players %v, at most %d fit", id, one.board,
					players, leagueCohort)
			}
			for i, user := range players {
				o := outcome{one.board, 1, id, i + 1, len(players), division[user], division[user]}
				switch {
				case len(players) < leagueMin:
				case o.From < leagueDivisions && o.Rank <= leaguePromote:
					o.To++
				case o.From > 1 && o.Rank > len(players)-leagueRelegate:
					o.To--
				}
				history[user] = slices.Insert(history[user], 0, o)
			}
		}
		for user, list := range history {
			division[user] = list[0].To
		}
	}
	for _, user := range r.users {
		type outcomes struct {
			Outcomes []outcome `json:"outcomes"`
		}
		want := history[user]
		path := "/v1/users/" + user + "/leagues?limit=1000&league=" + boardStars
		got, _ := read(ctx, r.seasons, rng, path, func(o *outcomes) bool { return len(o.Outcomes) >= len(want) })
		if !slices.Equal(got.Outcomes, want) {
			r.log.Violate("league", user, "the ends of seasons have decided %+v, the rules say %+v", got.Outcomes, want)
		}
		m, _ := read(ctx, r.seasons, rng, "/v1/leagues/"+r.current()+"/users/"+user, func(m *member) bool {
			return m.State != "waiting"
		})
		if m.State == "waiting" || m.Division != division[user] {
			r.log.Violate("league", user, "after %d seasons the place is %+v, want division %d", len(ended), m,
				division[user])
		}
	}
}

// rewardsOf reads the rewards of a season, until there are as many as wanted.
func (r *seasons) rewardsOf(ctx context.Context, rng *rand.Rand, board string, want int) []reward {
	type rewards struct {
		Rewards []reward `json:"rewards"`
	}
	got, _ := read(ctx, r, rng, "/v1/admin/rewards?limit=1000&board="+board, func(list *rewards) bool {
		return len(list.Rewards) >= want
	})
	return got.Rewards
}

// checkRewards holds the rewards of a season against its table.
func (r *league) checkRewards(
	ctx context.Context, rng *rand.Rand, board string, ranked []standing, division map[string]int,
) {
	want := make(map[string]string)
	for i, s := range ranked {
		switch {
		case division[s.user] == leagueDivisions:
			want[s.user] = fmt.Sprintf("%d %s", i+1, rewardDivision)
		case i < 2:
			want[s.user] = fmt.Sprintf("%d %s", i+1, rewardFirst)
		case 2*i < len(ranked):
			want[s.user] = fmt.Sprintf("%d %s", i+1, rewardHalf)
		}
	}
	for _, one := range r.rewardsOf(ctx, rng, board, len(want)) {
		r.deliveries.expect(board, one)
		if text := fmt.Sprintf("%d %s", one.Rank, one.Reward); want[one.UserID] != text {
			r.log.Violate("reward", one.UserID, "reward %d of %s is %s, the table says %q", one.ID, board, text,
				want[one.UserID])
		}
		delete(want, one.UserID) // another one is one too many
		first, claimed := r.won[one.ID]
		if claimed && (one.State != "claimed" || first.user != one.UserID || !one.ClaimedAt.Equal(first.at)) {
			r.log.Violate("claim", one.UserID, "reward %d was claimed by %s at %s, and is %+v", one.ID, first.user,
				first.at, one)
		}
	}
	for user, text := range want {
		r.log.Violate("reward", user, "no reward of %s, the table says %s", board, text)
	}
}
