package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/tui"
)

func newBoardCmd(p *program) *cobra.Command {
	return newNounCmd("board", "Manage boards", `
  sbctl board create arena --mode best
  sbctl board list`,
		withReason(newBoardCreateCmd(p)), newBoardListCmd(p), newBoardShowCmd(p), newStandingsCmd(p),
		withReason(newBoardSetCmd(p)), newBoardRulesCmd(p), newBoardRewardsCmd(p),
		withReason(newBoardRollCmd(p)),
		newBoardStatusCmd(p, "freeze", "Reject writes to a board; reads still work", "", (*client.Client).FreezeBoard),
		newBoardStatusCmd(p, "unfreeze", "Unfreeze a board", "", (*client.Client).UnfreezeBoard),
		newBoardStatusCmd(p, "archive", "Archive a board: read-only, served from PostgreSQL",
			"Archive board %s? It will reject all writes. This cannot be undone.", (*client.Client).ArchiveBoard))
}

func newBoardCreateCmd(p *program) *cobra.Command {
	r := client.BoardRequest{}
	var private bool
	var starts, ends string
	var team teamFlags
	var league leagueFlags
	var partitions int
	bounds := map[string]**int64{
		"min-delta": &r.MinDelta, "max-delta": &r.MaxDelta, "min-score": &r.MinScore, "max-score": &r.MaxScore,
		"attempts": &r.Attempts, "min-subscore": &r.MinSubscore, "max-subscore": &r.MaxSubscore,
	}
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a board", Args: exactArgs("NAME"),
		Example: trimExamples(`
  sbctl board create daily --period daily --time-zone Europe/Berlin
  sbctl board create race --mode best --order lowest --min-delta 0
  sbctl board create cup --mode best --period weekly --attempts 3 --ties shared
  sbctl board create open --period season --season spring --starts 7d --ends 14d --join required --max-players 64
  sbctl board create friday --period cron --schedule "0 18 * * fri" --time-zone Europe/Berlin --dry-run
  sbctl board create stars --period weekly --divisions 5 --cohort-size 50 --promote 10 --relegate 5
  sbctl board create table --subscore highest --min-subscore -20 --max-subscore 20
  sbctl board create ring --mode best --order lowest --title "Ring of fire" --color "#d55e00"
  sbctl board create clans --team-of arena --aggregate best:5 --moves from-now`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) (err error) {
			r.Board = args[0]
			if err := team.apply(cmd, &r); err != nil {
				return err
			}
			if err := league.apply(cmd, &r); err != nil {
				return err
			}
			if tiers, err := tiersOf(cmd); err != nil {
				return err
			} else if tiers != nil {
				r.Tiers = *tiers
			}
			if private {
				r.Public = new(bool)
			}
			if cmd.Flags().Changed("partitions") {
				r.Partitions = &partitions
			}
			for name, to := range bounds {
				if cmd.Flags().Changed(name) {
					n, err := cmd.Flags().GetInt64(name)
					if err != nil {
						return err
					}
					*to = &n
				}
			}
			if r.StartsAt, err = laterFlag("starts", starts); err != nil {
				return err
			}
			if r.EndsAt, err = laterFlag("ends", ends); err != nil {
				return err
			}
			b, err := c.CreateBoard(cmd.Context(), r)
			if err != nil {
				return err
			}
			if r.DryRun {
				p.infof("dry run: board %s was not created", b.Board)
			}
			return p.print(b, func() *table { return boardTable(&b, nil) })
		}),
	}
	team.add(cmd)
	league.add(cmd)
	addTiersFlag(cmd, "named bands of the standings, best first, such as "+
		"gold=rank:10,silver=percentile:25,bronze=score:100")
	f := cmd.Flags()
	f.StringVar(&r.Mode, "mode", "increment",
		"how a submission changes the score: increment (adds), best (replaces a worse one), latest (replaces)")
	f.StringVar(&r.Order, "order", "highest", "which score ranks first: highest or lowest")
	f.StringVar(&r.Period, "period", "none",
		"how often the board restarts: none, daily, weekly, monthly, season or cron")
	f.StringVar(&r.Schedule, "schedule", "",
		"when periods begin, with --period cron: minute, hour, day of the month, month, day of the week")
	f.BoolVar(&r.DryRun, "dry-run", false, "show the board and its next ten resets without creating it")
	f.StringVar(&r.TimeZone, "time-zone", "UTC", "time zone in which periods begin and end, such as Europe/Berlin")
	f.StringVar(&r.WeekStart, "week-start", "monday", "first day of a weekly period")
	f.StringVar(&r.Region, "region", "", "label to filter boards by, such as eu")
	f.StringVar(&r.Platform, "platform", "", "label to filter boards by, such as pc")
	f.StringSliceVar(&r.Tags, "tag", nil, "labels to filter boards by, at most 10")
	f.StringVar(&r.Season, "season", "", "name of the first season")
	f.StringVar(&starts, "starts", "", "start `time` of the first season (default now)")
	f.StringVar(&ends, "ends", "", "end `time` of the first season, such as 14d")
	f.StringSliceVar(&r.Require, "require", nil, "what increments must carry: action-token, attestation")
	f.StringVar(&r.ActionMin, "action-min", "", "minimum duration of an action, such as 30s")
	f.StringVar(&r.ActionTTL, "action-ttl", "", "lifetime of an action token (default 1h)")
	f.IntVar(&partitions, "partitions", 1,
		"number of Redis keys to spread the ranking over, for a board larger than one server: 1 to 64")
	f.BoolVar(&private, "private", false, "let only servers and operators read other users' scores")
	f.Int64("min-delta", 0, "minimum delta (default 1; on best and latest boards the minimum score)")
	f.Int64("max-delta", 0, "maximum delta (default 1000000; on best and latest boards the maximum score)")
	f.Int64("min-score", 0, "minimum score (default −(2^53 − 1))")
	f.Int64("max-score", 0, "maximum score (default 2^53 − 1)")
	f.StringVar(&r.Subscore, "subscore", "", "which `subscore` ranks first among equal scores: none (submissions "+
		"have no subscore, the default), highest or lowest")
	f.Int64("min-subscore", 0, "minimum subscore of an increment (default −(2^53 − 1))")
	f.Int64("max-subscore", 0, "maximum subscore of an increment (default 2^53 − 1)")
	f.StringVar(&r.Metadata, "metadata", "", "who sees metadata of standings: none (it is not kept), self or public")
	f.StringVar(&r.Ties, "ties", "", "how equal scores rank: unique (the first is ahead, the default) or shared")
	f.Int64("attempts", 0, "maximum number of events of a user per period; 0: no limit")
	f.StringVar(&r.Join, "join", "", "who may submit to a period, with --period season or cron: open (everybody) or "+
		"required (only users who have joined it)")
	f.Int64Var(&r.MaxPlayers, "max-players", 0, "maximum number of users who join a period; 0: no limit")
	f.BoolVar(&r.LateJoin, "late-join", false, "let users join a period that has begun")
	addAppearanceFlags(f, &r.Title, &r.Description, &r.Color, &r.Image)
	return cmd
}

// addAppearanceFlags adds what pages show of a board.
func addAppearanceFlags(f *pflag.FlagSet, title, description, color, image *string) {
	f.StringVar(title, "title", "", "title that pages show instead of the name, up to 80 characters")
	f.StringVar(description, "description", "", "plain text that pages show below the title, up to 500 characters")
	f.StringVar(color, "color", "", "colour of links and marks of pages, as #rrggbb")
	f.StringVar(image, "image", "", "https `URL` of a square picture for pages")
}

// boardTable shows a board; current is its current period, nil if it has none or it was
// not read.
func boardTable(b, current *client.Board) *table {
	t := newTable()
	t.add("board", b.Board)
	for _, row := range [][2]string{
		{"title", b.Title},
		{"description", b.Description},
		{"color", b.Color},
		{"image", b.Image},
		{"family", b.Family},
		{"current", b.Current},
		{"status", statusCell(b, current)},
		{"mode", b.Mode},
		{"order", b.Order},
		{"delta", deltaCell(b)},
		{"teams", teamCell(b)},
		{"score", fmt.Sprintf("%d to %d", b.MinScore, b.MaxScore)},
		{"subscore", subscoresCell(b)},
		{"attempts", attemptsCell(b)},
		{"metadata", b.Metadata},
		{"ties", b.Ties},
		{"join", joinCell(b)},
		{"public", strconv.FormatBool(b.Public)},
		{"region", b.Region},
		{"platform", b.Platform},
		{"tags", strings.Join(b.Tags, ", ")},
		{"requires", strings.Join(b.Require, ", ")},
		{"action", actionCell(b)},
		{"period", b.Period},
		{"time zone", b.TimeZone},
		{"week start", b.WeekStart},
		{"schedule", b.Schedule},
		{"from", timeCell(b.PeriodStart)},
		{"to", timeCell(b.PeriodEnd)},
		{"next reset", timeCell(b.NextReset)},
		{"created", timeCell(&b.CreatedAt)},
		{"closed", timeCell(b.ClosedAt)},
		{"standings", b.StandingsHash},
		{"partitions", partitionsCell(b)},
		{"tiers", wire.TiersText(b.Tiers)},
		{"league", leagueCell(b)},
	} {
		if row[1] != "" {
			t.add(row[0], row[1])
		}
	}
	for _, at := range b.NextResets {
		t.add("reset", timeCell(&at))
	}
	return t
}

// partitionsCell is over how many keys the ranking is spread; "" for one.
func partitionsCell(b *client.Board) string {
	if b.Partitions <= 1 {
		return ""
	}
	return strconv.Itoa(b.Partitions)
}

// subscoresCell is which subscore ranks first, and the bounds; "" for a board without subscores.
func subscoresCell(b *client.Board) string {
	if b.MinSubscore == nil || b.MaxSubscore == nil {
		return ""
	}
	return fmt.Sprintf("%s first, %d to %d", b.Subscore, *b.MinSubscore, *b.MaxSubscore)
}

// joinCell is who may submit to a period; "" for everybody.
func joinCell(b *client.Board) string {
	text := b.Join
	if b.MaxPlayers > 0 {
		text += fmt.Sprintf(", at most %s players", number(b.MaxPlayers))
	}
	if b.LateJoin {
		text += ", also after the start"
	}
	return text
}

// attemptsCell is how many events of a user are recorded; "" without a limit.
func attemptsCell(b *client.Board) string {
	switch {
	case b.Attempts == 0:
		return ""
	case b.Period == "none":
		return fmt.Sprintf("%d per user", b.Attempts)
	}
	return fmt.Sprintf("%d per user and period", b.Attempts)
}

// deltaCell is the bounds of increments; "" for a board that takes none.
func deltaCell(b *client.Board) string {
	if b.Team != nil {
		return ""
	}
	return fmt.Sprintf("%d to %d", b.MinDelta, b.MaxDelta)
}

// actionCell is how long an action may take on a board that requires its token.
func actionCell(b *client.Board) string {
	if !slices.Contains(b.Require, "action-token") {
		return ""
	}
	longest := shortDuration(b.ActionTTL)
	if b.ActionMin == "" || b.ActionMin == "0s" {
		return "up to " + longest
	}
	return shortDuration(b.ActionMin) + " to " + longest
}

// shortDuration drops the zero parts of a duration such as "1h0m0s".
func shortDuration(text string) string {
	for _, zero := range []string{"m0s", "h0m"} {
		if rest, ok := strings.CutSuffix(text, zero); ok {
			text = rest + zero[:1]
		}
	}
	return text
}

func timeCell(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(time.RFC3339)
}

func newBoardListCmd(p *program) *cobra.Command {
	var q client.BoardQuery
	cmd := &cobra.Command{
		Use: "list", Short: "List boards by name", Args: exactArgs(),
		Example: trimExamples(`
  sbctl board list --tag ranked --region eu --platform pc
  sbctl board list --family daily --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			page, err := c.Boards(cmd.Context(), q)
			if err != nil {
				return err
			}
			if page.NextAfter != "" {
				p.infof("more: --after %s", page.NextAfter)
			}
			var current map[string]*client.Board
			if !p.structured() {
				if current, err = currentSeasons(cmd.Context(), c, page.Boards); err != nil {
					return err
				}
			}
			return p.print(page, func() *table {
				t := newTable("BOARD", "MODE", "ORDER", "PERIOD", "REGION", "PLATFORM", "TAGS", "STATUS", "FROM", "TO")
				for _, b := range page.Boards {
					t.add(b.Board, b.Mode, b.Order, b.Period, b.Region, b.Platform, strings.Join(b.Tags, ","),
						statusCell(&b, current[b.Current]), timeCell(b.PeriodStart), timeCell(b.PeriodEnd))
				}
				return t
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&q.Family, "family", "", "only this board and its periods")
	f.StringVar(&q.Period, "period", "", "only boards with this period: none, daily, weekly, monthly, season or cron")
	f.StringVar(&q.Region, "region", "", "only boards of this region")
	f.StringVar(&q.Platform, "platform", "", "only boards of this platform")
	f.StringVar(&q.Tag, "tag", "", "only boards with this tag")
	f.StringVar(&q.Status, "status", "", "only boards with this status: active, frozen or archived")
	f.StringVar(&q.After, "after", "", "only names after this one")
	f.IntVar(&q.Limit, "limit", 100, "maximum number of boards")
	return cmd
}

// currentSeasons returns the current seasons of the boards with seasons, by name. Most are
// in the same list.
func currentSeasons(ctx context.Context, c *client.Client, boards []client.Board) (map[string]*client.Board, error) {
	current := make(map[string]*client.Board)
	for i := range boards {
		current[boards[i].Board] = &boards[i]
	}
	for i := range boards {
		name := boards[i].Current
		if boards[i].Period != "season" || name == "" || current[name] != nil {
			continue
		}
		season, err := c.Board(ctx, name)
		if err != nil {
			return nil, err
		}
		current[name] = &season
	}
	return current, nil
}

// sealed returns a board with the status ended in place of frozen, once its period has
// ended and its final standings are stored.
func sealed(b client.Board) client.Board {
	if b.Status == "frozen" && b.ClosedAt != nil {
		b.Status = tui.Ended
	}
	return b
}

// statusCell is a board's status. A period that has ended, and a board with seasons whose
// last one has, has ended: it accepts no scores, even before its status says so. current is
// the current period of a board with periods, nil if there is none or it is not known.
func statusCell(b, current *client.Board) string {
	end := b.PeriodEnd
	if b.Period == "season" && b.Current != "" && current != nil {
		end = current.PeriodEnd
	}
	if b.Status == "active" && end != nil && !time.Now().Before(*end) {
		return tui.Ended
	}
	return sealed(*b).Status
}

// shownBoard is a board and the status of its ranking.
type shownBoard struct {
	client.Board
	Now     *client.Board         `json:"now,omitempty"`     // a family's current period
	Ranking *client.RankingStatus `json:"ranking,omitempty"` // absent for an archived board
}

func newBoardShowCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a board and the status of its ranking", Args: exactArgs("NAME"),
		Example: trimExamples(`
  sbctl board show global
  sbctl board show daily:2026-11-21 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			b, err := c.Board(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			shown := shownBoard{Board: b}
			if b.Current != "" && b.Current != b.Board {
				now, err := c.Board(cmd.Context(), b.Current)
				if err != nil {
					return err
				}
				shown.Now = &now
			}
			if b.Status != "archived" {
				k, err := c.RankingStatus(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				shown.Ranking = &k
			}
			return p.print(shown, func() *table {
				t := boardTable(&b, shown.Now)
				if shown.Now != nil {
					t.add("current from", timeCell(shown.Now.PeriodStart))
					t.add("current to", timeCell(shown.Now.PeriodEnd))
				}
				if shown.Ranking != nil {
					addRankingRows(t, shown.Ranking)
				}
				return t
			})
		}),
	}
}
