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

// The rules of the tournament. Users join before a season begins, and nobody leaves: so who was told that a season is
// full never joins it.
const (
	tournamentPlayers = 6 // of 12 users
	tournamentWinners = 3 // get the reward
	rewardCup         = `{"cup":true}`
	tournamentSeasons = 12 // at most
	tournamentSeason  = 2500 * time.Millisecond
	// tournamentClock is how exactly the test knows when a season begins by PostgreSQL's clock.
	tournamentClock = 50 * time.Millisecond
)

// tournament is the board of the cup. Its seasons are planned when it is created, the last one for long after the run.
type tournament struct {
	*seasons
	deliveries *deliveries

	joins sync.Mutex
	by    map[string]map[string]*participation // by season and user
}

// participation is what a user was told of joining a season.
type participation struct {
	tried  time.Duration // when the first request began
	joined time.Duration // when the first answer came that says so; 0: none
	full   bool          // another answer said that the season is full
}

func newTournament(s *site, p *players, d *deliveries) *tournament {
	return &tournament{
		seasons: &seasons{
			site: s, players: p, family: boardCup, users: usersOf("t", 2*tournamentPlayers),
			every: max(tournamentSeason, s.o.duration/tournamentSeasons),
		},
		deliveries: d, by: make(map[string]map[string]*participation),
	}
}

// create creates the tournament.
func (r *tournament) create(ctx context.Context) error {
	node := r.cluster.First("api")
	begin := r.log.Now() + time.Second
	at := func(i int) string { return r.log.Wall(begin + time.Duration(i)*r.every).UTC().Format(time.RFC3339Nano) }
	count := max(2, int(r.o.duration/r.every))
	for i := range count {
		season := seasonBody(r.next())
		season["starts_at"] = at(i)
		if i+1 < count {
			season["ends_at"] = at(i + 1)
		}
		path := "/v1/boards/" + boardCup + "/roll"
		if i == 0 {
			path, season["board"], season["mode"], season["period"] = "/v1/boards", boardCup, "increment", "season"
			season["join"], season["max_players"], season["late_join"] = "required", tournamentPlayers, false
		}
		status, err := r.server.Call(ctx, node.URL(), http.MethodPost, path, season, nil)
		if err != nil || status >= 300 {
			return fmt.Errorf("create season %d of tournament %s: status %d, %w", i, boardCup, status, err)
		}
		is := begin + time.Duration(i)*r.every
		r.add(span{is - tournamentClock, is + tournamentClock})
		r.by[r.all[i].board] = make(map[string]*participation)
	}
	rewards := map[string]any{"bands": []map[string]any{
		{"last_rank": tournamentWinners, "reward": json.RawMessage(rewardCup)},
	}}
	path := "/v1/boards/" + boardCup + "/rewards?reason=torture"
	if status, err := r.server.Call(ctx, node.URL(), http.MethodPut, path, rewards, nil); err != nil || status >= 300 {
		return fmt.Errorf("set the rewards of tournament %s: status %d, %w", boardCup, status, err)
	}
	return nil
}

// upcoming is the number of the next season that has not begun, that of seasons if all have.
func (r *tournament) upcoming() int {
	now := r.log.Now()
	for i, one := range r.all {
		if one.begin.to > now {
			return i
		}
	}
	return len(r.all)
}

// joiner has users join seasons, each at several nodes at once, until ctx ends. Half of the seasons
// are full before they begin, and users try to join the others after their start.
func (r *tournament) joiner(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		user, i := r.users[rng.IntN(len(r.users))], r.upcoming()
		if (i%2 == 1) == (rng.IntN(12) > 0) || i == len(r.all) {
			i = max(0, i-1)
		}
		season := r.all[i].board
		var all sync.WaitGroup
		for range 1 + rng.IntN(3) {
			node := r.node(rng, "api")
			all.Go(func() { r.join(ctx, node.URL(), user, season) })
		}
		all.Wait()
		pause(ctx, time.Duration(rng.IntN(4*r.o.pauseMS+1))*time.Millisecond)
	}
}

// join asks once to join a season, and notes the answer.
func (r *tournament) join(ctx context.Context, server, user, season string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
	defer cancel()
	r.joins.Lock()
	told := r.by[season][user]
	if told == nil {
		told = &participation{tried: r.log.Now()}
		r.by[season][user] = told
	}
	r.joins.Unlock()
	var got struct {
		Board   string `json:"board"`
		Joined  bool   `json:"joined"`
		Players int    `json:"players"`
		Code    string `json:"error_code"`
		Message string `json:"message"`
	}
	status, err := r.server.Call(ctx, server, http.MethodPost, "/v1/boards/"+season+"/join?user_id="+user, nil, &got)
	if err != nil || !says(contract.Answer{Status: status}) {
		return
	}
	r.joins.Lock()
	defer r.joins.Unlock()
	switch {
	case status == http.StatusOK && got.Joined && got.Board == season && got.Players <= tournamentPlayers:
		if told.joined == 0 {
			told.joined = r.log.Now()
			r.log.Note(user, "has joined %s", season)
		}
	case got.Code == "tournament_full":
		told.full = true
	case got.Code != "join_closed":
		r.log.Violate("tournament", user, "to join %s was answered with %d %+v", season, status, got)
	}
}

// check holds the seasons and their players against what users were told. Where PostgreSQL's clock was wrong, seasons
// begin at other times.
func (r *tournament) check(ctx context.Context, rng *rand.Rand, all rows) {
	r.checkSeasons(ctx, rng, all)
	if r.storeClock.Load() {
		return
	}
	players := 0
	for i, one := range r.all {
		players += r.checkPlayers(ctx, rng, one, all)
		if i+1 < len(r.all) {
			r.checkRewards(ctx, rng, one.board, standings(one.board, all))
		}
	}
	r.checkRejected()
	fmt.Printf("%d players in %d seasons of the tournament\n", players, len(r.all))
	r.deliveries.await()
}

// checkPlayers: a season has no player too many and none who came late, it has everyone who was told so, and nobody
// else has a score.
func (r *tournament) checkPlayers(ctx context.Context, rng *rand.Rand, one season, all rows) (count int) {
	type list struct {
		Players []struct {
			User string `json:"user_id"`
		} `json:"players"`
	}
	path := "/v1/admin/boards/" + one.board + "/players?limit=1000"
	got, ok := read(ctx, r.seasons, rng, path, func(*list) bool { return true })
	if !ok {
		r.log.Violate("tournament", "", "the players of %s cannot be read", one.board)
		return 0
	}
	var players []string
	for _, p := range got.Players {
		players = append(players, p.User)
		switch told := r.by[one.board][p.User]; {
		case told == nil || told.tried > one.begin.to:
			r.log.Violate("tournament", p.User, "a player of %s, begun before %s, who asked to join: %+v", one.board,
				one.begin.to, told)
		case told.full:
			r.log.Violate("tournament", p.User, "a player of %s, and was told that it is full", one.board)
		}
	}
	if len(players) > tournamentPlayers {
		r.log.Violate("tournament", "", "%s has the players %v, at most %d fit", one.board, players, tournamentPlayers)
	}
	for user, told := range r.by[one.board] {
		if told.joined != 0 && !slices.Contains(players, user) {
			r.log.Violate("tournament", user, "joined %s, and is not among the players %v", one.board, players)
		}
	}
	for user, byBoard := range all {
		if len(byBoard[one.board]) > 0 && !slices.Contains(players, user) {
			r.log.Violate("tournament", user, "has events in %s without having joined it", one.board)
		}
	}
	return len(players)
}

// checkRewards holds the rewards of a season against its table. Nobody claims them, so webhooks are told of each.
func (r *tournament) checkRewards(ctx context.Context, rng *rand.Rand, board string, ranked []standing) {
	winners := ranked[:min(len(ranked), tournamentWinners)]
	got := r.rewardsOf(ctx, rng, board, len(winners))
	for i, s := range winners {
		at := slices.IndexFunc(got, func(one reward) bool { return one.UserID == s.user })
		if at < 0 || got[at].Rank != int64(i)+1 || string(got[at].Reward) != rewardCup {
			r.log.Violate("reward", s.user, "rank %d of %s has none of the rewards %+v", i+1, board, got)
		}
	}
	if len(got) != len(winners) {
		r.log.Violate("reward", "", "%s has %d rewards for %d winners", board, len(got), len(winners))
	}
	for _, one := range got {
		r.deliveries.expect(board, one)
	}
}

// checkRejected: an event is rejected for nothing else, and not if its user had joined the season in which it was sent.
func (r *tournament) checkRejected() {
	for _, e := range r.log.Events() {
		if e.Board != r.family || e.Rejected == "" {
			continue
		}
		if e.Rejected != "not_joined" {
			r.log.Violate("tournament", e.UserID, "event %s was rejected: %s", e.EventID, e.Rejected)
		}
		for i, one := range r.all {
			told := r.by[one.board][e.UserID]
			begun := e.Invoked > one.begin.to
			ended := i+1 < len(r.all) && e.Returned > r.all[i+1].begin.from
			if told != nil && told.joined != 0 && told.joined < e.Invoked && begun && !ended {
				r.log.Violate("tournament", e.UserID, "event %s of a player of %s since %s was rejected, sent at %s",
					e.EventID, one.board, told.joined, e.Invoked)
			}
		}
	}
}
