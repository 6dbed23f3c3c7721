// Command demo plays a game on a development stack, for "make demo": players with names
// on three boards, one of them a league whose season ends after 45 seconds, and a cheater
// who is flagged, reversed and banned. At the end of the season, players are promoted, and
// the winner claims a reward. It reads the address and the credentials from SBCTL_SERVER,
// SBCTL_TOKEN, SBCTL_KEY_ID and SBCTL_KEY_SECRET.
//
//	demo seed    # create the boards and the players' scores so far
//	demo play    # play until interrupted
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

// The boards of the demo, besides global.
const (
	cup   = "cup"   // a league of two seasons
	arena = "arena" // the best score counts
)

// seasonLasts is how long the first season lasts.
const seasonLasts = 45 * time.Second

// story says when something happens to the cheater, from the start of the play.
type story struct{ cheats, reversed, banned time.Duration }

var inAMinute = story{cheats: 12 * time.Second, reversed: 21 * time.Second, banned: 33 * time.Second}

// cheater is the index of the player who cheats.
const cheater = 16

// names are the players, best first at the start.
var names = []string{
	"Ada Nyström", "Kofi Mensah", "Miyu Tanaka", "Lena Vogel", "Raj Patel", "Inés Ortega", "Tomás Silva", "Zoe Laurent",
	"Noor Haddad", "Sven Eriksen", "Olu Adeyemi", "Wen Li", "Grace Okafor", "Dmitri Volkov", "Bea Rossi",
	"Iker Etxeberria",
	"Vex", "Yara Costa", "Linus Berg", "Tara Singh", "Juno Park", "Mateo Ruiz", "Freya Holm", "Amir Rahimi",
	"Chloe Martin", "Jonas Weber", "Aiko Mori", "Priya Nair", "Luca Conti", "Sofia Novak", "Emeka Obi", "Hanna Lind",
	"Pavel Dvořák", "Maya Cohen", "Nils Aas", "Rosa Duarte",
}

// id is the user id of a player: the first name, which is unique here.
func id(player int) string {
	first, _, _ := strings.Cut(names[player], " ")
	return strings.NewReplacer("é", "e", "á", "a").Replace(strings.ToLower(first))
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("demo: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	steps := map[string]func(context.Context, *client.Client) error{
		"seed": func(ctx context.Context, c *client.Client) error { return seed(ctx, c, seasonLasts) }, "play": play,
	}
	if len(os.Args) != 2 || steps[os.Args[1]] == nil {
		log.Fatal("usage: demo seed|play")
	}
	c, err := client.New(os.Getenv("SBCTL_SERVER"), client.Options{
		Token: os.Getenv("SBCTL_TOKEN"), KeyID: os.Getenv("SBCTL_KEY_ID"), KeySecret: os.Getenv("SBCTL_KEY_SECRET"),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if err := steps[os.Args[1]](ctx, c); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// seed creates the boards, the players and their scores so far; the first season ends after
// a while. Many small events make
// the ledger long enough for the size rule, which compares an event with those before.
func seed(ctx context.Context, c *client.Client, lasts time.Duration) error {
	flag := "flag"
	if _, err := c.ChangeSetting(ctx, "anomaly.size", client.SettingRequest{Value: &flag, Reason: "demo"}); err != nil {
		return err
	}
	if _, err := c.CreateBoard(ctx, client.BoardRequest{Board: arena, Mode: "best"}); err != nil {
		return err
	}
	ends := time.Now().Add(lasts).Truncate(time.Second)
	_, err := c.CreateBoard(ctx, client.BoardRequest{
		Board: cup, Period: "season", Season: "autumn", EndsAt: &ends,
		League: &client.League{Divisions: 3, CohortSize: 12, Promote: new(3), Relegate: new(3)},
	})
	if err != nil {
		return err
	}
	_, err = c.SetRewardTable(client.Because(ctx, "demo"), cup, client.RewardTableRequest{Bands: []client.RewardBand{
		{LastRank: 1, Reward: json.RawMessage(`{"trophy":"gold"}`)},
		{LastRank: 3, Reward: json.RawMessage(`{"gems":500}`)},
		{Division: 1, Reward: json.RawMessage(`{"gems":10}`)},
	}})
	if err != nil {
		return err
	}
	next := ends.Add(12 * time.Hour)
	_, err = c.RollBoards(ctx, cup, client.RollRequest{Season: "winter", StartsAt: &ends, EndsAt: &next})
	if err != nil {
		return err
	}
	profiles, profilesCtx := errgroup.WithContext(ctx)
	profiles.SetLimit(8)
	for player := range names {
		profiles.Go(func() error {
			_, err := c.PutProfile(client.Because(profilesCtx, "demo"), id(player),
				client.Profile{DisplayName: names[player]})
			return err
		})
	}
	if err := profiles.Wait(); err != nil {
		return err
	}
	var all []client.Increment
	for round := range seedRounds {
		for player := range names {
			points := int64(70 - player + rand.IntN(12))
			all = append(all,
				client.Increment{User: id(player), Delta: points, Board: cup},
				client.Increment{User: id(player), Delta: 3 * points, Board: "global"})
			if round == 0 {
				all = append(all, client.Increment{User: id(player), Delta: 400 + 5*points, Board: arena})
			}
		}
	}
	for len(all) > 0 {
		n := min(len(all), client.MaxBatch)
		results, err := c.SubmitBatch(ctx, all[:n])
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Err != nil {
				return r.Err
			}
		}
		all = all[n:]
	}
	return nil
}

// seedRounds is how many events each player has at the start.
const seedRounds = 24

// play submits events until ctx ends, and plays the cheater and the operator.
func play(ctx context.Context, c *client.Client) error {
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return matches(ctx, c) })
	work.Go(func() error { return inAMinute.cheat(ctx, c) })
	work.Go(func() error {
		happened, err := leagueNight(ctx, c)
		if happened != "" {
			log.Print(happened) //nolint:gosec // of names that the demo has made
		}
		return err
	})
	return work.Wait()
}

// matches submits what players earn, several times a second. The leaders play often.
func matches(ctx context.Context, c *client.Client) error {
	for sleep(ctx, time.Duration(60+rand.IntN(160))*time.Millisecond) {
		player := int(rand.ExpFloat64() * 8)
		if player >= len(names) || player == cheater {
			continue
		}
		if err := match(ctx, c, player); err != nil {
			return err
		}
	}
	return nil
}

// match submits what a player earned in a match. The viewer may have banned the player or
// frozen the board, and the server may be busy: the game goes on.
func match(ctx context.Context, c *client.Client, player int) error {
	points := int64(5 + rand.IntN(45))
	if rand.IntN(9) == 0 {
		points += int64(rand.IntN(120))
	}
	_, err := c.SubmitBoards(ctx, client.Increment{User: id(player), Delta: points, Action: "match"},
		[]string{cup, "global"})
	if err == nil && rand.IntN(4) == 0 {
		_, err = c.Submit(ctx, client.Increment{
			User: id(player), Delta: int64(500 + rand.IntN(900)), Board: arena, Action: "round",
		})
	}
	var e *client.Error
	if errors.As(err, &e) &&
		(e.Temporary() || e.Code == wire.CodeForbidden || e.Code == wire.CodeBoardClosed) {
		return nil
	}
	return err
}

// cheat submits an event that is far too large, which the server flags. An operator
// confirms the flag and reverses the event, and later bans the user.
func (s story) cheat(ctx context.Context, c *client.Client) error {
	user := id(cheater)
	if !sleep(ctx, s.cheats) {
		return nil
	}
	receipt, err := c.Submit(ctx, client.Increment{User: user, Delta: 4200, Board: cup, Action: "match"})
	if err != nil {
		return err
	}
	if !sleep(ctx, s.reversed-s.cheats) {
		return nil
	}
	flags, err := c.Flags(ctx, client.FlagQuery{User: user})
	if err != nil {
		return err
	}
	if len(flags.Flags) == 0 {
		return fmt.Errorf("event %s of %s is not flagged", receipt.ProcessedEventID, user)
	}
	if _, err := c.ConfirmFlag(ctx, flags.Flags[0].ID, "4,200 points in one match"); err != nil {
		return err
	}
	reverse := client.ReverseRequest{UserID: user, Reason: "4,200 points in one match"}
	if _, err := c.Reverse(ctx, receipt.ProcessedEventID, reverse); err != nil {
		return err
	}
	if !sleep(ctx, s.banned-s.reversed) {
		return nil
	}
	_, err = c.Ban(ctx, user, "cheated in the autumn season")
	return err
}

// leagueNight waits until the first season has ended, claims the reward of its winner, and
// says that and who moved up; "" if ctx ends before.
func leagueNight(ctx context.Context, c *client.Client) (happened string, err error) {
	const season = cup + ":autumn"
	for sleep(ctx, 500*time.Millisecond) {
		won, err := c.BoardRewards(ctx, season, "", "", len(names))
		if err == nil && len(won.Rewards) > 0 {
			happened, err = celebrate(ctx, c, won.Rewards)
		}
		var e *client.Error
		if happened != "" || err != nil && (!errors.As(err, &e) || !e.Temporary()) {
			return happened, err
		}
	}
	return "", nil
}

// celebrate says who moved up and what the winner claims, once the season is decided; "" before.
func celebrate(ctx context.Context, c *client.Client, won []client.Reward) (string, error) {
	var promoted []string
	decided := false
	for player := range names {
		history, err := c.LeagueHistory(ctx, client.LeagueQuery{User: id(player), League: cup})
		if err != nil {
			return "", err
		}
		for _, o := range history.Outcomes {
			if decided = true; o.To > o.From {
				promoted = append(promoted, names[player])
			}
		}
	}
	if !decided {
		return "", nil
	}
	winner := slices.MinFunc(won, func(a, b client.Reward) int { return cmp.Compare(a.Rank, b.Rank) })
	receipt, err := c.ClaimReward(ctx, winner.UserID, winner.ID)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the autumn season has ended: %s are promoted, and the winner, %s, claims %s",
		strings.Join(promoted, ", "), winner.UserID, receipt.Reward), nil
}

// sleep waits, and reports whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
