package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/english"
)

// replayFlags select what is replayed.
type replayFlags struct {
	offset    int64
	from      string
	dlq       bool
	topic     string
	partition int
	dry       bool
}

func (f *replayFlags) request(cmd *cobra.Command) (r client.ReplayRequest, err error) {
	sources := 0
	for _, name := range []string{"from-offset", "from-time", "dlq"} {
		if cmd.Flags().Changed(name) {
			sources++
		}
	}
	if sources != 1 {
		return r, usagef("pass exactly one of --from-offset, --from-time and --dlq")
	}
	r.DLQ, r.Topic = f.dlq, f.topic
	if cmd.Flags().Changed("partition") {
		if f.partition < 0 {
			return r, usagef("--partition must not be negative")
		}
		r.Partition = &f.partition
	}
	if cmd.Flags().Changed("from-offset") {
		if r.Partition == nil {
			return r, usagef("--from-offset requires --partition")
		}
		r.FromOffset = &f.offset
	}
	if f.from != "" {
		at, err := timeFlag("from-time", f.from)
		if err != nil {
			return r, err
		}
		r.FromTime = &at
	}
	return r, nil
}

func newReplayCmd(p *program) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use: "replay", Short: "Apply retained events or dead letters again", Args: exactArgs(),
		Long: `Apply events that the transport still retains, from an offset of one partition or
from a time, or put dead letters back into the outbox. Events that the ranking
already has change nothing, so a replay can be repeated and can run during live
traffic. sbctl first counts what would change, asks for confirmation, then replays.
Events too old for repeats of them to be recognised are never replayed.`,
		Example: trimExamples(`
  sbctl replay --since 1h --dry-run
  sbctl replay --from-offset 1200 --partition 3 --yes`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			r, err := f.request(cmd)
			if err != nil {
				return err
			}
			r.DryRun = f.dry || !p.curl
			preview, err := c.Replay(cmd.Context(), r, progress(p.output))
			if err != nil {
				return err
			}
			if f.dry {
				return printReplayed(p.output, preview)
			}
			if preview.Changed == 0 {
				preview.DryRun = false // a replay would give the same counts
				p.infof("nothing changed: the ranking has every event that can be applied")
				return printReplayed(p.output, preview)
			}
			p.infof("%s: %d would change the ranking, %d would not, %d cannot be applied",
				english.Count(preview.Records, "record"), preview.Changed, preview.Unchanged, notApplied(preview))
			if err := p.confirm(cmd.Context(),
				fmt.Sprintf("Apply %s?", english.Count(preview.Changed, "change"))); err != nil {
				return err
			}
			r.DryRun = false
			done, err := c.Replay(cmd.Context(), r, progress(p.output))
			if err != nil {
				return err
			}
			return printReplayed(p.output, done)
		}),
	}
	cmd.Annotations = map[string]string{
		afterInterrupt: "events applied so far stay applied; run the command again to start over",
	}
	flags := cmd.Flags()
	flags.Int64Var(&f.offset, "from-offset", 0, "first offset, in the partition of --partition")
	flags.StringVar(&f.from, "from-time", "", "replay events produced from this `time` on (alias --since)")
	acceptSince(flags, "from-time", "")
	flags.BoolVar(&f.dlq, "dlq", false, "replay the dead letters of --topic and --partition instead")
	flags.StringVar(&f.topic, "topic", "", "topic (default: the server's event topic)")
	flags.IntVar(&f.partition, "partition", 0, "only this partition")
	flags.BoolVar(&f.dry, "dry-run", false, "only count what would change")
	return cmd
}

func notApplied(r client.Replayed) int64 { return r.Unreadable + r.TooNew + r.TooOld + r.NoRanking }

func printReplayed(out *output, r client.Replayed) error {
	err := out.print(r, func() *table {
		t := newTable()
		changed := "changed"
		if r.DryRun {
			changed = "would change"
		}
		t.add("records", strconv.FormatInt(r.Records, 10))
		t.add(changed, strconv.FormatInt(r.Changed, 10))
		t.add("already applied", strconv.FormatInt(r.Unchanged, 10))
		rest := r.Records - r.Changed - r.Unchanged - notApplied(r)
		for _, other := range []struct {
			label string
			n     int64
		}{
			{"heartbeats", rest},
			{"malformed", r.Unreadable},
			{"newer schema", r.TooNew},
			{"too old to replay", r.TooOld},
			{"boards without a ranking", r.NoRanking},
		} {
			if other.n > 0 {
				t.add(other.label, strconv.FormatInt(other.n, 10))
			}
		}
		return t
	})
	took := ms(r.TookMS)
	out.infof("took %v, %.0f records/s", took, float64(r.Records)/max(took.Seconds(), 0.001))
	return err
}
