package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// The outcomes of a check. Only a failure makes the answer no.
const (
	checkOK      = "ok"
	checkWarn    = "warn"
	checkFail    = "fail"
	checkSkipped = "skipped"
)

// check is one thing that the doctor looked at.
type check struct {
	Name     string `json:"name"`
	Status   string `json:"status"`
	Detail   string `json:"detail"`
	NextStep string `json:"next_step,omitempty"`
}

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
readiness, token, signing key, clock and the freshness of the board. Each finding
comes with the next step. Exit code 3 says that something is wrong.

Readiness is asked at the operations address: --ops-server or SBCTL_OPS_SERVER, else
the port after the server's when that is on this machine.`,
		Example: trimExamples(`
  sbctl doctor
  sbctl doctor --server https://scores.example.com --output json`),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.settings()
			if err != nil {
				return err
			}
			if ops == "" {
				ops = p.opsServer(s.Server.Value)
			}
			d := diagnose(cmd.Context(), s, ops)
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			if err := p.print(d, func() *table { return diagnosisTable(d) }); err != nil {
				return err
			}
			if !d.Healthy {
				return errNo
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&ops, "ops-server", "", "the server's operations address")
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

// opsServer guesses the operations address of a server on this machine.
func (p *program) opsServer(server string) string {
	if ops := p.env["SBCTL_OPS_SERVER"]; ops != "" {
		return ops
	}
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	port, err := strconv.Atoi(u.Port())
	local := u.Hostname() == "localhost" || strings.HasPrefix(u.Hostname(), "127.") || u.Hostname() == "::1"
	if err != nil || !local {
		return ""
	}
	return fmt.Sprintf("http://%s:%d", u.Hostname(), port+1)
}
