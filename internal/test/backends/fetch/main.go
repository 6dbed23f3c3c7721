// Fetch downloads a server that tests run, unless it is in the user's cache, and prints its
// folder: kafka has the jars of Apache Kafka, postgres the programs of PostgreSQL.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/devstack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := fetch(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

func fetch(ctx context.Context, args []string) (string, error) {
	if len(args) != 1 {
		return "", fmt.Errorf("want kafka or postgres")
	}
	switch args[0] {
	case "kafka":
		return backends.KafkaJars(ctx)
	case "postgres":
		bin, err := devstack.FetchPostgres(ctx)
		return filepath.Dir(bin), err
	}
	return "", fmt.Errorf("unknown server %q: want kafka or postgres", args[0])
}
