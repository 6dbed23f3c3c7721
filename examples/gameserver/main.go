// Command gameserver is an example of a game that submits its matches: it simulates a
// few matches between three players and prints their standings.
//
//	scoreboardd dev                     # in one terminal
//	set -a; . .dev/sbctl.env; set +a    # in another: the server's address and credentials
//	go run ./examples/gameserver
package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"

	"github.com/scoreboard/scoreboard/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// Event ids are derived from match ids, so a match that is submitted twice counts
	// once.
	season := client.NewEventID()
	if err := play(ctx, os.Getenv, os.Stdout, season); err != nil {
		fmt.Fprintln(os.Stderr, "gameserver:", err)
		os.Exit(1)
	}
}

func play(ctx context.Context, env func(string) string, out io.Writer, season string) error {
	if env("SBCTL_SERVER") == "" {
		return fmt.Errorf("SBCTL_SERVER is not set: set -a; . .dev/sbctl.env; set +a")
	}
	scores, err := client.New(env("SBCTL_SERVER"), client.Options{
		Token: env("SBCTL_TOKEN"), KeyID: env("SBCTL_KEY_ID"), KeySecret: env("SBCTL_KEY_SECRET"),
	})
	if err != nil {
		return err
	}
	defer scores.Close()
	players := []string{"ada", "grace", "linus"}
	versions := map[string]int64{} // of each player's last receipt
	for match := range 10 {
		win := client.Increment{
			User: players[rand.N(len(players))], Delta: 1 + rand.Int64N(50),
			EventID: season + ":match:" + strconv.Itoa(match),
		}
		receipt, err := scores.Submit(ctx, win)
		if err != nil {
			return err // Submit has retried temporary errors; win can be submitted again at any time
		}
		versions[win.User] = receipt.Version
		fmt.Fprintf(out, "%s wins %d and has %d\n", win.User, win.Delta, receipt.NewScore)
	}
	// Rankings lag writes by a fraction of a second. With MinVersion, a standing
	// includes the receipt of that version.
	for player, version := range versions {
		place, err := scores.Score(ctx, player, client.PlaceQuery{MinVersion: version})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s is #%d of %d with %d\n", player, place.Rank, place.Total, place.Score)
	}
	return nil
}
