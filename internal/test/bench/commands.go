package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// benchmark is a command that runs one bench.
type benchmark struct {
	name, short, example string
	run                  func(context.Context, Options) error
	flags                func(*cobra.Command, *Options)
}

var benchmarks = []benchmark{
	{
		"latency", "Measure start-up, idle cost, and the time from commit to Redis and to a frame",
		"scorebench latency", Latency, nil,
	},
	{
		"idle", "Measure what an installation does while nobody uses it: CPU, wake-ups, statements, commands",
		"scorebench idle", Idle, nil,
	},
	{
		"store", "Compare group commit with one transaction per increment",
		"scorebench store", Store, nil,
	},
	{
		"ingest", "Measure increments over HTTP in a closed loop, with CPU time per process",
		"scorebench ingest", Ingest, nil,
	},
	{
		"open", "Measure increments over HTTP at fixed rates",
		"scorebench open", Open, nil,
	},
	{
		"grown", "Measure the rate on a ledger of ten million rows",
		"scorebench grown", Grown, nil,
	},
	{
		"scale", "Measure what an increment costs by rows, users, boards and nodes, and draw the curves",
		"scorebench scale --picture docs/pictures/scale.svg", Scale, pictureFlags,
	},
	{
		"read", "Measure reads: mixed with writes, in a closed loop, without Redis, and with many boards",
		"scorebench read --users 100000 --boards 100 --duration 5s", Read, readFlags,
	},
	{
		"partitions", "Measure reads of a board in partitions, on a Redis cluster of its own, beside changes",
		"scorebench partitions --users 5000000 --partitions 8 --servers 4", Partitions, partitionFlags,
	},
	{
		"pipeline", "Measure projection, rebuild, verify, replay and a backlog during writes",
		"scorebench pipeline --scale 0.02", Pipeline, scaleFlags,
	},
	{
		"past", "Measure reads of past boards, the cost of checkpoints, and a what-if",
		"scorebench past --scale 0.02", PastBoards, scaleFlags,
	},
	{
		"bytes", "Measure what users and increments take in memory, on disk and on the network",
		"scorebench bytes", Bytes, nil,
	},
	{
		"size-check", "Compare the simulated latency of sbctl size with the measured one at five rates",
		"scorebench size-check", SizeCheck, nil,
	},
	{
		"flood", "Measure valid traffic during a flood of invalid signatures",
		"scorebench flood", Flood, nil,
	},
	{
		"accept", "Run the full acceptance criteria, with CPU time per process",
		"scorebench accept -- --criteria B", Accept, nil,
	},
	{
		"chaos", "Run acceptance criteria with a killed projector and a flushed Redis",
		"scorebench chaos -- --rate 1000", Chaos, nil,
	},
	{
		"max-rate", "Search for the highest sustained rate in each mode",
		"scorebench max-rate", MaxRate, nil,
	},
	{
		"generator", "Measure the load generator against a server that does nothing",
		"scorebench generator", Generator, nil,
	},
	{
		"screen", "Measure the screen of sbctl watch: CPU time and bytes to the terminal, idle and at 50 updates/s",
		"scorebench screen", Screen, nil,
	},
	{
		"cli", "Measure sbctl: help, one submit, its size, and a file",
		"scorebench cli --lines 10000000", CLI, cliFlags,
	},
}

// peerCommand is not among the benchmarks: it needs a server that is not ours.
var peerCommand = benchmark{
	"peer", "Measure increments on a Nakama or a Podium that runs on this machine, with the load of ingest",
	"scorebench peer --kind podium --url http://127.0.0.1:8890", MeasurePeer, peerFlags,
}

func peerFlags(cmd *cobra.Command, o *Options) {
	cmd.Flags().StringVar(&o.Peer.Kind, "kind", "", "nakama or podium")
	cmd.Flags().StringVar(&o.Peer.URL, "url", "", "address of its API")
	cmd.Flags().StringVar(&o.Peer.Board, "board", "bench", "leaderboard; Nakama's must exist, with the operator incr")
	cmd.Flags().StringVar(&o.Peer.ServerKey, "server-key", "defaultkey", "server key of Nakama")
	_ = cmd.MarkFlagRequired("kind")
	_ = cmd.MarkFlagRequired("url")
}

func readFlags(cmd *cobra.Command, o *Options) {
	cmd.Flags().IntVar(&o.Users, "users", 1_000_000, "users on the large board")
	cmd.Flags().IntVar(&o.Boards, "boards", 1000, "number of small boards")
	cmd.Flags().DurationVar(&o.Duration, "duration", 15*time.Second, "duration of each measurement")
}

func partitionFlags(cmd *cobra.Command, o *Options) {
	p, f := &o.Partitions, cmd.Flags()
	f.IntVar(&p.Users, "users", 5_000_000, "users on the board in partitions")
	f.IntVar(&p.Partitions, "partitions", 8, "partitions of the board: 2 to 64")
	f.IntVar(&p.Servers, "servers", 4, "servers of the cluster")
	f.IntVar(&p.Whole, "whole", 1_000_000, "users on the board in one piece, which is measured afterwards")
	f.IntVar(&p.Rate, "rate", 2000, "reads per second, and as many changes")
	f.DurationVar(&o.Duration, "duration", 15*time.Second, "duration of each measurement")
}

func scaleFlags(cmd *cobra.Command, o *Options) {
	cmd.Flags().Float64Var(&o.Scale, "scale", 1, "share of a million users and events, above 0 and at most 1")
}

func pictureFlags(cmd *cobra.Command, o *Options) {
	cmd.Flags().StringVar(&o.Picture, "picture", "", "write the curves into this SVG file")
}

func cliFlags(cmd *cobra.Command, o *Options) {
	cmd.Flags().IntVar(&o.Lines, "lines", 200_000, "lines of the submitted file")
	cmd.Flags().IntVar(&o.Runs, "runs", 5, "runs of each command, whose median is printed")
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use: "scorebench", Short: "Measure scoreboard", SilenceUsage: true, SilenceErrors: true,
		Long: `Measure scoreboard.

Each bench starts PostgreSQL, Redis, Apache Kafka and the daemon as processes of
its own, and prints its figures as Markdown. Stop other work on the machine first.`,
	}
	root.SetOut(p.options.Out)
	root.SetErr(p.options.Err)
	flags := root.PersistentFlags()
	flags.StringVar(&p.options.Bin, "bin", "bin", "folder of scoreboardd and sbctl")
	flags.BoolVar(&p.options.Quick, "quick", false, "use tiny sizes to test the bench; the figures mean nothing")
	for _, b := range benchmarks {
		root.AddCommand(p.command(b))
	}
	root.AddCommand(p.command(peerCommand), p.realtime(), p.serveNoop(), p.vegeta())
	return root
}

func (p *program) command(b benchmark) *cobra.Command {
	passesArgs := b.name == "accept" || b.name == "chaos"
	cmd := &cobra.Command{
		Use: b.name, Short: b.short, Args: cobra.NoArgs, Example: "  " + b.example,
		RunE: func(cmd *cobra.Command, args []string) error {
			p.options.Args = args
			Header(cmd.Context(), p.options.Out, b.name)
			return b.run(cmd.Context(), p.options)
		},
	}
	if passesArgs {
		cmd.Use += " [-- FLAGS OF sbctl accept]"
		cmd.Args = cobra.ArbitraryArgs
	}
	if b.flags != nil {
		b.flags(cmd, &p.options)
	}
	return cmd
}

// serveNoop and vegeta are the other processes of the generator bench.
func (p *program) serveNoop() *cobra.Command {
	return &cobra.Command{
		Use: "serve-noop", Short: "Serve responses without doing anything", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return ServeNoop(cmd.Context(), p.options.Out) },
	}
}

func (p *program) vegeta() *cobra.Command {
	return &cobra.Command{
		Use: "vegeta URL RATE DURATION", Short: "Send requests with vegeta", Hidden: true, Args: cobra.ExactArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			rate, err := strconv.Atoi(args[1])
			if err != nil {
				return fmt.Errorf("parse the rate: %w", err)
			}
			d, err := time.ParseDuration(args[2])
			if err != nil {
				return fmt.Errorf("parse the duration: %w", err)
			}
			Attack(p.options.Out, args[0], rate, d)
			return nil
		},
	}
}
