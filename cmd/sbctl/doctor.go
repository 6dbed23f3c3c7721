package main

import (
	"net"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// The outcomes of a check. Only a failure makes the answer no.
const (
	checkOK      = protocol.CheckOK
	checkWarn    = protocol.CheckWarn
	checkFail    = protocol.CheckFail
	checkSkipped = protocol.CheckSkipped
)

// check is one thing that the doctor looked at.
type check = protocol.Check

// diagnosis is all of them.
type diagnosis struct {
	Healthy bool    `json:"healthy"`
	Checks  []check `json:"checks"`
}

func newDoctorCmd(p *program) *cobra.Command {
	var ops string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for what is wrong between here and the server", Args: takes(),
		Long: `Look for what is wrong between here and the server: settings, connection,
readiness, token, signing key, clock, the freshness of the board; and, with a
token that has score:admin, what the server finds itself: whether its version is
that of this program, PostgreSQL, Redis, Kafka, what waits in the outbox and on the
broker, disk and configuration. Each finding comes with the next step. Exit code 3
says that something is wrong.

--output nagios prints one line and exits as Nagios wants it: 0 fine, 1 warning,
2 critical. --output prometheus prints metrics for a textfile collector.

Readiness is asked at the operations address: --ops or SBCTL_OPS_SERVER, which
"make dev" writes down too; else the port after the server's is tried when that is
on this machine.`,
		Example: trimExamples(`
  sbctl doctor
  sbctl doctor --server https://scores.example.com --output json
  sbctl doctor --output prometheus > /var/lib/node_exporter/scoreboard.prom`),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.settings()
			if err != nil {
				return err
			}
			d := p.diagnose(cmd.Context(), s, p.opsServer(s, ops))
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			switch p.output {
			case "nagios":
				return d.nagios(p.stdout)
			case "prometheus":
				err = d.prometheus(p.stdout)
			default:
				err = p.print(d, func() *table { return diagnosisTable(d) })
			}
			if err != nil {
				return err
			}
			if !d.Healthy {
				return errNo
			}
			return nil
		},
	}
	cmd.Annotations = map[string]string{outputsMore: "nagios prometheus"}
	cmd.Flags().StringVar(&ops, "ops", "", opsHelp)
	return cmd
}

func diagnosisTable(d diagnosis) *table {
	t := newTable("CHECK", "STATUS", "FOUND")
	for _, c := range d.Checks {
		t.add(c.Name, c.Status, c.Detail)
		if c.NextStep != "" {
			t.add("", "", "→ "+c.NextStep)
		}
	}
	return t
}

const opsHelp = "the server's address of operations (default SBCTL_OPS_SERVER, else its host and next port)"

// opsServer is the operations address as a flag or the settings say it, else
// guessed: by default it is at the port after the one of the API.
func (p *program) opsServer(s settings, flag string) setting {
	if flag != "" {
		return setting{withScheme(flag), "--ops"}
	}
	if s.Ops.Value != "" {
		return setting{withScheme(s.Ops.Value), s.Ops.From}
	}
	u, err := url.Parse(s.Server.Value)
	if err != nil {
		return setting{}
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return setting{}
	}
	return setting{"http://" + net.JoinHostPort(u.Hostname(), strconv.Itoa(port+1)), guessed}
}

// guessed is where an operations address comes from that nobody named.
const guessed = "a guess"
