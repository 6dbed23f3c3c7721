package main

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"

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

// The exit codes that Nagios and its heirs know.
const (
	nagiosWarning  = 1
	nagiosCritical = 2
)

// exitWith ends a command that has said all there is to say.
type exitWith int

func (e exitWith) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// nagios prints in one line what is wrong, and the counts behind it.
func (d diagnosis) nagios(w io.Writer) error {
	count := map[string]int{}
	var wrong []string
	for _, c := range d.Checks {
		count[c.Status]++
		if c.Status == checkFail || c.Status == checkWarn {
			wrong = append(wrong, c.Name+": "+c.Detail)
		}
	}
	word, code := "OK", 0
	switch {
	case count[checkFail] > 0:
		word, code = "CRITICAL", nagiosCritical
	case count[checkWarn] > 0:
		word, code = "WARNING", nagiosWarning
	}
	said := fmt.Sprintf("%d checks", len(d.Checks))
	if len(wrong) > 0 {
		said = strings.Join(wrong, "; ")
	}
	_, err := fmt.Fprintf(w, "SCOREBOARD %s - %s | ok=%d warn=%d fail=%d skipped=%d\n",
		word, strings.ReplaceAll(said, "|", "/"), count[checkOK], count[checkWarn], count[checkFail], count[checkSkipped])
	if err != nil || code == 0 {
		return err
	}
	return exitWith(code)
}

// prometheus prints metrics as a textfile collector takes them.
func (d diagnosis) prometheus(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# HELP scoreboard_doctor_healthy Whether no check failed.\n# TYPE scoreboard_doctor_healthy gauge\n")
	healthy := 0
	if d.Healthy {
		healthy = 1
	}
	fmt.Fprintf(&b, "scoreboard_doctor_healthy %d\n", healthy)
	b.WriteString("# HELP scoreboard_doctor_check The outcome of a check: 1 for the one that it has.\n# TYPE scoreboard_doctor_check gauge\n")
	for _, c := range d.Checks {
		for _, status := range []string{checkOK, checkWarn, checkFail, checkSkipped} {
			is := 0
			if c.Status == status {
				is = 1
			}
			fmt.Fprintf(&b, "scoreboard_doctor_check{check=%q,status=%q} %d\n", c.Name, status, is)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
