package main

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
)

func newJobCmd(p *program) *cobra.Command {
	return newNounCmd("job", "Show and stop rebuilds, verifications and replays on all nodes", `
  sbctl job list
  sbctl job stop 17 --reason "wrong board"`,
		newJobListCmd(p), withReason(newJobStopCmd(p)))
}

func newJobListCmd(p *program) *cobra.Command {
	var before int64
	cmd := &cobra.Command{
		Use: "list", Short: "List the jobs of all nodes, newest first", Args: exactArgs(),
		Long: `List the newest 100 jobs of all nodes: rebuilds, verifications, reconciliations, replays,
what-ifs and archivings of the ledger. A job is lost if its node has not reported it for
30 seconds.`,
		Example: trimExamples(`
  sbctl job list
  sbctl job list --output json`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			all, err := c.Jobs(cmd.Context(), before)
			if err != nil {
				return err
			}
			return p.print(all, func() *table { return jobTable(all) })
		}),
	}
	cmd.Flags().Int64Var(&before, "before", 0, "only jobs with a lower number")
	return cmd
}

func jobTable(jobs []client.Job) *table {
	t := newTable(">JOB", "KIND", "TARGET", "STATE", "NODE", "BY", "STARTED", "REASON")
	for _, j := range jobs {
		t.add(strconv.FormatInt(j.JobID, 10), j.Kind, j.Target, j.State, j.Node, j.Who,
			j.StartedAt.Format(time.RFC3339), j.Reason)
	}
	return t
}

func newJobStopCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "stop ID", Short: "Stop a running job; the data stays consistent", Args: exactArgs("ID"),
		Example: trimExamples(`
  sbctl job stop 17
  sbctl job stop 17 --reason "wrong board"`),
		RunE: p.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			id, err := idArgument("job", args[0])
			if err != nil {
				return err
			}
			job, err := c.StopJob(cmd.Context(), id)
			if err != nil {
				return err
			}
			p.infof("stopping job %d on node %s", job.JobID, job.Node)
			return p.print(job, func() *table { return jobTable([]client.Job{job}) })
		}),
	}
}
