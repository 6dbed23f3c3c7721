// Command browser is an example of a game in a web page: the page sends what the player does to
// this program, which decides what counts, signs it and submits it. The page never has a
// secret. It shows the board live, with the TypeScript SDK.
//
//	(cd sdk/typescript && npm ci && npm run build)
//	scoreboardd dev --realtime-origins http://127.0.0.1:8090    # in one terminal
//	set -a; . .dev/sbctl.env; set +a                                # in another
//	go run ./examples/browser
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	addr := flag.String("addr", "127.0.0.1:8090", "address of the game")
	sdk := flag.String("sdk", "sdk/typescript/dist", "folder of the built TypeScript SDK")
	flag.Parse()
	if err := serve(ctx, *addr, *sdk); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, addr, sdk string) error {
	server := os.Getenv("SBCTL_SERVER")
	if server == "" {
		return errors.New("SBCTL_SERVER is not set: set -a; . .dev/sbctl.env; set +a")
	}
	scores, err := client.New(server, client.Options{
		Token: os.Getenv("SBCTL_TOKEN"), KeyID: os.Getenv("SBCTL_KEY_ID"), KeySecret: os.Getenv("SBCTL_KEY_SECRET"),
	})
	if err != nil {
		return err
	}
	defer scores.Close()
	s := &http.Server{
		Addr: addr, Handler: newGame(scores, server, sdk),
		ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	fmt.Printf("play on http://%s\n", addr)
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
