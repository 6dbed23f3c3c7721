package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newBoardSetCmd(p *program) *cobra.Command {
	var require []string
	var minDuration, ttl, region, platform, metadata string
	var tags []string
	var partitions int
	var minDelta, maxDelta, minScore, maxScore, minSubscore, maxSubscore, attempts, maxPlayers int64
	var join string
	var late bool
	var title, description, color, image string
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Change a board's labels, bounds, requirements, tiers, partitions, or appearance",
		Args: exactArgs("NAME"),
		Long: `Change a board's labels, the bounds of its increments, its requirements, its tiers, the
partitions of its ranking, or how pages show it. Options that are not given keep their values; an empty label,
title, description, color or image is removed.

A requirement applies immediately and in every period that has not ended. Increments
counted before stay counted, and a repeat of one returns its receipt.

Bounds, wider or narrower, apply in the same way. Scores outside stay as they are. So
does a limit of attempts: events of the current period count, and 0 removes it.

With --join, users must join the periods that begin later, or need not. --max-players and
--late-join apply at once; nobody who has joined is removed.

Metadata of submissions is kept and shown from now on; with none, it is neither.

Tiers replace the current ones, also in the periods that have not ended. A user is in the
first tier that holds: up to a rank, the first percent of the users, or up to a score.

With --partitions, the ranking is spread over another number of Redis keys. It is
rebuilt while it stays online; sbctl board show shows when it is done.`,
		Example: trimExamples(`
  sbctl board set arena --tag ranked,duel --region eu --platform pc
  sbctl board set global --require action-token --action-min 30s
  sbctl board set global --require none
  sbctl board set arena --min-delta -50 --max-delta 5000
  sbctl board set daily --attempts 3
  sbctl board set cup --join required --max-players 128
  sbctl board set arena --metadata public
  sbctl board set arena --tiers champion=rank:1,gold=percentile:5,silver=score:1000
  sbctl board set global --partitions 8
  sbctl board set arena --title "The Arena" --description "Duels, best of three." --color "#7a3fc4"`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			var r client.BoardChange
			flags := cmd.Flags()
			if flags.Changed("require") {
				if len(require) == 1 && require[0] == "none" {
					require = []string{}
				}
				r.Require = &require
			}
			if flags.Changed("action-min") {
				r.ActionMin = &minDuration
			}
			if flags.Changed("action-ttl") {
				r.ActionTTL = &ttl
			}
			for name, set := range map[string]struct {
				to   **string
				from *string
			}{
				"region": {&r.Region, &region}, "platform": {&r.Platform, &platform},
				"metadata": {&r.Metadata, &metadata}, "join": {&r.Join, &join},
				"title": {&r.Title, &title}, "description": {&r.Description, &description},
				"color": {&r.Color, &color}, "image": {&r.Image, &image},
			} {
				if flags.Changed(name) {
					*set.to = set.from
				}
			}
			if flags.Changed("late-join") {
				r.LateJoin = &late
			}
			if flags.Changed("tag") {
				r.Tags = &tags
			}
			if flags.Changed("partitions") {
				r.Partitions = &partitions
			}
			var err error
			if r.Tiers, err = tiersOf(cmd); err != nil {
				return err
			}
			for name, set := range map[string]struct {
				to   **int64
				from *int64
			}{
				"min-delta": {&r.MinDelta, &minDelta}, "max-delta": {&r.MaxDelta, &maxDelta},
				"min-score": {&r.MinScore, &minScore}, "max-score": {&r.MaxScore, &maxScore},
				"min-subscore": {&r.MinSubscore, &minSubscore}, "max-subscore": {&r.MaxSubscore, &maxSubscore},
				"attempts": {&r.Attempts, &attempts}, "max-players": {&r.MaxPlayers, &maxPlayers},
			} {
				if flags.Changed(name) {
					*set.to = set.from
				}
			}
			if r == (client.BoardChange{}) {
				return usagef("nothing to change; pass --region, --platform, --tag, --require, " +
					"--action-min, --action-ttl, --min-delta, --max-delta, --min-score, --max-score, " +
					"--min-subscore, --max-subscore, " +
					"--attempts, --join, --max-players, --late-join, --metadata, --tiers, --partitions, " +
					"--title, --description, --color or --image")
			}
			b, err := c.SetBoard(cmd.Context(), args[0], r)
			if err != nil {
				return err
			}
			return p.print(b, func() *table { return boardTable(&b, nil) })
		}),
	}
	f := cmd.Flags()
	f.StringVar(&region, "region", "", "label to filter boards by, such as eu")
	f.StringVar(&platform, "platform", "", "label to filter boards by, such as pc")
	f.StringSliceVar(&tags, "tag", nil, "labels to filter boards by; replaces the current ones")
	f.StringSliceVar(&require, "require", nil, "action-token, attestation, both or none")
	f.StringVar(&minDuration, "action-min", "", "minimum duration of an action, such as 30s")
	f.StringVar(&ttl, "action-ttl", "", "lifetime of an action token")
	f.Int64Var(&minDelta, "min-delta", 0, "minimum delta of an increment")
	f.Int64Var(&maxDelta, "max-delta", 0, "maximum delta of an increment")
	f.Int64Var(&minScore, "min-score", 0, "minimum score")
	f.Int64Var(&maxScore, "max-score", 0, "maximum score")
	f.Int64Var(&minSubscore, "min-subscore", 0, "minimum subscore of an increment")
	f.Int64Var(&maxSubscore, "max-subscore", 0, "maximum subscore of an increment")
	f.Int64Var(&attempts, "attempts", 0, "maximum number of events of a user per period; 0: no limit")
	f.StringVar(&join, "join", "", "who may submit to periods that begin later: open (everybody) or required (only "+
		"users who have joined them)")
	f.Int64Var(&maxPlayers, "max-players", 0, "maximum number of users who join a period; 0: no limit")
	f.BoolVar(&late, "late-join", false, "let users join a period that has begun")
	f.StringVar(&metadata, "metadata", "", "who sees the metadata of standings: none (it is not kept), self or public")
	addTiersFlag(cmd, "named bands of the standings, best first, such as gold=rank:10,silver=percentile:25; or none")
	addAppearanceFlags(f, &title, &description, &color, &image)
	f.IntVar(&partitions, "partitions", 0, "number of Redis keys to spread the ranking over: 1 to 64")
	return cmd
}

func newBoardRollCmd(p *program) *cobra.Command {
	var r client.RollRequest
	var starts, ends string
	cmd := &cobra.Command{
		Use: "roll [NAME]", Short: "End and start periods that are due, or start a season",
		Long: `End and start the periods that are due, of one board or of all, and list them. The
server also does this automatically.

With --season, start a season: now, which ends the current one, or at --starts.`,
		Args: atMostOne,
		Example: trimExamples(`
  sbctl board roll --dry-run
  sbctl board roll season --season spring --ends 2027-03-31T00:00:00Z`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) (err error) {
			if r.StartsAt, err = laterFlag("starts", starts); err != nil {
				return err
			}
			if r.EndsAt, err = laterFlag("ends", ends); err != nil {
				return err
			}
			var board string
			if len(args) > 0 {
				board = args[0]
			}
			if r.Season != "" && r.StartsAt == nil && !r.DryRun {
				question := fmt.Sprintf("Start season %s now? This ends the current season and cannot be undone.",
					r.Season)
				if err := p.confirm(cmd.Context(), question); err != nil {
					return err
				}
			}
			done, err := c.RollBoards(cmd.Context(), board, r)
			if err != nil {
				return err
			}
			switch {
			case done.Interrupted == "" && len(done.Ended)+len(done.Created) == 0:
				p.infof("no period is due")
			case done.DryRun:
				p.infof("dry run: nothing was changed")
			}
			return p.print(done, func() *table { return rolledTable(&done) })
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&r.DryRun, "dry-run", false, "list what is due without changing anything")
	f.StringVar(&r.Season, "season", "", "name of the season to start")
	f.StringVar(&starts, "starts", "", "start `time` of the season (default now)")
	f.StringVar(&ends, "ends", "", "end `time` of the season, such as 14d")
	return cmd
}

func rolledTable(r *client.Rolled) *table {
	t := newTable("BOARD", "CHANGE", "AT", ">USERS", "HASH")
	if r.Interrupted != "" {
		t.add(r.Interrupted, "interrupted", "", "", "")
	}
	for _, b := range r.Ended {
		t.add(b.Board, "ended", timeCell(&b.PeriodEnd), fmt.Sprint(b.Users), b.StandingsHash)
	}
	for _, b := range r.Created {
		t.add(b, "created", "", "", "")
	}
	if len(t.rows) == 0 {
		return newTable()
	}
	return t
}

// newBoardStatusCmd returns a command that changes a board's status, after a
// confirmation if question is set.
func newBoardStatusCmd(
	p *program, verb, short, question string,
	change func(*client.Client, context.Context, string) (client.Board, error),
) *cobra.Command {
	second := "--output json"
	if question != "" {
		second = "--yes"
	}
	return withReason(&cobra.Command{
		Use: verb + " NAME", Short: short, Args: exactArgs("NAME"),
		Example: trimExamples(fmt.Sprintf(`
  sbctl board %s arena
  sbctl board %s daily:2026-11-21 %s`, verb, verb, second)),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if question != "" {
				if err := p.confirm(cmd.Context(), fmt.Sprintf(question, args[0])); err != nil {
					return err
				}
			}
			b, err := change(c, cmd.Context(), args[0])
			if err != nil {
				return err
			}
			p.infof("board %s is %s", b.Board, b.Status)
			return p.print(b, func() *table { return boardTable(&b, nil) })
		}),
	})
}
