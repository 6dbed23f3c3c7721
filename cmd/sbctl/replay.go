package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

// replayFlags say what is replayed.
type replayFlags struct {
	offset    int64
	from      string
	dlq       bool
	topic     string
	partition int
	dry       bool
}

func (f *replayFlags) request(cmd *cobra.Command) (r client.ReplayRequest, err error) {
	ways := 0
	for _, name := range []string{"from-offset", "from-time", "dlq"} {
		if cmd.Flags().Changed(name) {
			ways++
		}
	}
	if ways != 1 {
		return r, usagef("say one of --from-offset, --from-time and --dlq")
	}
	r.DLQ, r.Topic = f.dlq, f.topic
	if cmd.Flags().Changed("partition") {
		if f.partition < 0 {
			return r, usagef("--partition is not negative")
		}
		r.Partition = &f.partition
	}
	if cmd.Flags().Changed("from-offset") {
		if r.Partition == nil {
			return r, usagef("an offset is of one partition: name it with --partition")
		}
		r.FromOffset = &f.offset
	}
	if f.from != "" {
		at, err := time.Parse(time.RFC3339, f.from)
		if err != nil {
			return r, usagef("--from-time takes a time such as 2026-11-21T12:00:00Z, not %q", f.from)
		}
		r.FromTime = &at
	}
	return r, nil
}

func newReplayCmd(p *program) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use: "replay", Short: "Apply again what the transport still holds, or dead letters", Args: takes(),
		Long: `Apply again what the transport still holds, from an offset of one partition or
from a time, or put dead letters into the outbox again. What the ranking has
already does nothing, so a replay may be repeated and runs beside live traffic.
First it is counted what would change; then, after a question, it is changed.
Nothing from before repeats are known is replayed.`,
		Example: trimExamples(`
  sbctl replay --from-time 2026-11-21T12:00:00Z --dry-run
  sbctl replay --from-offset 1200 --partition 3 --yes`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			r, err := f.request(cmd)
			if err != nil {
				return err
			}
			r.DryRun = true
			would, err := c.Replay(cmd.Context(), r, p.progress())
			if err != nil {
				return err
			}
			if f.dry || would.Changed == 0 {
				return p.replayed(would)
			}
			p.say("of %d records %d would change something, %d would not, %d cannot be applied", would.Records, would.Changed, would.Unchanged, cannot(would))
			if err := p.confirm(cmd.Context(), fmt.Sprintf("Apply %d changes?", would.Changed)); err != nil {
				return err
			}
			r.DryRun = false
			done, err := c.Replay(cmd.Context(), r, p.progress())
			if err != nil {
				return err
			}
			return p.replayed(done)
		}),
	}
	cmd.Annotations = map[string]string{onceInterrupted: "what was applied stays so and counts once; the same command goes over all of it again"}
	flags := cmd.Flags()
	flags.Int64Var(&f.offset, "from-offset", 0, "the first offset, of the partition that --partition names")
	flags.StringVar(&f.from, "from-time", "", "when the first of it was produced, such as 2026-11-21T12:00:00Z")
	flags.BoolVar(&f.dlq, "dlq", false, "the dead letters instead; those of --topic and --partition")
	flags.StringVar(&f.topic, "topic", "", "the topic; the server's events when not given")
	flags.IntVar(&f.partition, "partition", 0, "one partition only")
	flags.BoolVar(&f.dry, "dry-run", false, "only count what would change")
	return cmd
}

func cannot(r client.Replayed) int64 { return r.Unreadable + r.TooNew + r.TooOld + r.NotHeld }

func (p *program) replayed(r client.Replayed) error {
	err := p.print(r, func() *table {
		t := newTable()
		changed := "changed"
		if r.DryRun {
			changed = "would change"
		}
		t.add("records", strconv.FormatInt(r.Records, 10))
		t.add(changed, strconv.FormatInt(r.Changed, 10))
		t.add("known already", strconv.FormatInt(r.Unchanged, 10))
		rest := r.Records - r.Changed - r.Unchanged - cannot(r)
		for _, other := range []struct {
			what string
			n    int64
		}{
			{"say nothing (heartbeats)", rest},
			{"cannot be read", r.Unreadable},
			{"of a later build", r.TooNew},
			{"from before repeats are known", r.TooOld},
			{"of boards that are not held", r.NotHeld},
		} {
			if other.n > 0 {
				t.add(other.what, strconv.FormatInt(other.n, 10))
			}
		}
		return t
	})
	took := ms(r.TookMS)
	p.say("in %v, %.0f records/s", took, float64(r.Records)/max(took.Seconds(), 0.001))
	return err
}
