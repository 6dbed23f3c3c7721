package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newDLQCmd(p *program) *cobra.Command {
	return newNounCmd("dlq", "Manage dead letters: records that could not be processed", `
  sbctl dlq list
  sbctl dlq requeue 17`,
		newDLQListCmd(p),
		deadLetterCmd(p, "show", "Show a dead letter and its value", "", (*client.Client).DeadLetter),
		withReason(deadLetterCmd(p, "requeue", "Process a dead letter again; what has counted already has no effect",
			"Requeue dead letter %d?", (*client.Client).RequeueLetter)),
		withReason(deadLetterCmd(p, "drop", "Delete a dead letter",
			"Delete dead letter %d? This cannot be undone.", (*client.Client).DropLetter)))
}

func newDLQListCmd(p *program) *cobra.Command {
	var after int64
	cmd := &cobra.Command{
		Use: "list", Short: "List dead letters, oldest first", Args: exactArgs(),
		Example: trimExamples(`
  sbctl dlq list
  sbctl dlq list --after 100 --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			page, err := c.DeadLetters(cmd.Context(), after)
			if err != nil {
				return err
			}
			if page.NextAfter > 0 {
				p.infof("more: --after %d", page.NextAfter)
			}
			return p.print(page, func() *table {
				t := newTable(">ID", "TOPIC", ">PARTITION", ">OFFSET", "AT", ">ATTEMPTS", "REASON")
				for _, l := range page.Letters {
					t.add(fmt.Sprint(l.ID), l.Topic, strconv.Itoa(l.Partition), fmt.Sprint(l.Offset),
						l.DeadLetteredAt.Format(time.RFC3339), strconv.Itoa(l.Attempts), l.Reason)
				}
				return t
			})
		}),
	}
	cmd.Flags().Int64Var(&after, "after", 0, "only dead letters after this id")
	return cmd
}

// deadLetterCmd returns a command that acts on one dead letter, after a
// confirmation if question is set, and prints it. --dry-run only prints it.
func deadLetterCmd(
	p *program, verb, short, question string,
	do func(*client.Client, context.Context, int64) (client.DeadLetter, error),
) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use: verb + " ID", Short: short, Args: exactArgs("ID"),
		Example: trimExamples(fmt.Sprintf(`
  sbctl dlq %[1]s 17
  sbctl dlq %[1]s 17 --output json`, verb)),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			id, err := idArgument("dead letter", args[0])
			if err != nil {
				return err
			}
			if dry {
				do = (*client.Client).DeadLetter
			} else if question != "" && !p.curl {
				// Before the question: a letter that does not exist needs no answer.
				if _, err := c.DeadLetter(cmd.Context(), id); err != nil {
					return err
				}
				if err := p.confirm(cmd.Context(), fmt.Sprintf(question, id)); err != nil {
					return err
				}
			}
			l, err := do(c, cmd.Context(), id)
			if err != nil {
				return err
			}
			return p.print(l, func() *table {
				t := newTable()
				t.add("id", fmt.Sprint(l.ID))
				t.add("from", fmt.Sprintf("%s, partition %d, offset %d", l.Topic, l.Partition, l.Offset))
				t.add("at", l.DeadLetteredAt.Format(time.RFC3339))
				t.add("attempts", strconv.Itoa(l.Attempts))
				t.add("reason", l.Reason)
				t.add("value", string(l.Value))
				return t
			})
		}),
	}
	if question != "" {
		cmd.Flags().BoolVar(&dry, "dry-run", false, "only show the dead letter")
	}
	return cmd
}
