// Command gameserver shows how a game reports its matches: it plays a few
// between three players and prints who leads.
//
//	make dev                            # in one terminal
//	set -a; . .dev/sbctl.env; set +a    # in another: where the server is, and how to get in
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
	// A match has an id of its own; that of its event is made of it, so that a
	// match that is reported twice counts once.
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
			return err // what may pass was tried five times; win can be sent again at any time
		}
		versions[win.User] = receipt.Version
		fmt.Fprintf(out, "%s wins %d and has %d\n", win.User, win.Delta, receipt.NewScore)
	}
	// The board follows in a fraction of a second. With the version of a receipt
	// a standing is never older than that receipt.
	for player, version := range versions {
		place, err := scores.Score(ctx, player, client.PlaceQuery{MinVersion: version})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s is #%d of %d with %d\n", player, place.Rank, place.Total, place.Score)
	}
	return nil
}
