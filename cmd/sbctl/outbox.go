package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newOutboxCmd(p *program) *cobra.Command {
	return newNounCmd("outbox", "Show the backlog of unpublished changes", `
  sbctl outbox status
  sbctl outbox status --output json`,
		repeatable(p.connector, p.output, &cobra.Command{
			Use: "status", Short: "Show the owner and the backlog of each shard", Args: exactArgs(),
			Example: trimExamples(`
  sbctl outbox status
  sbctl outbox status --watch`),
			RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
				o, err := c.Outbox(cmd.Context())
				if err != nil {
					return err
				}
				if o.Halted != "" {
					p.infof("PUBLISHING HAS STOPPED: %s", o.Halted)
				}
				p.infof("oldest write transaction: running for %v", ms(o.HorizonAgeMS))
				return p.print(o, func() *table {
					t := newTable(">SHARD", "OWNER", ">DEPTH", ">OLDEST", ">ATTEMPTS", "LAST ERROR")
					for _, s := range o.Shards {
						t.add(strconv.Itoa(s.Shard), s.Owner, fmt.Sprint(s.Depth),
							ms(s.OldestAgeMS).String(),
							strconv.Itoa(s.Attempts), s.LastError)
					}
					return t
				})
			}),
		}))
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
