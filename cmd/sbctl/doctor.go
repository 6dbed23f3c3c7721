package main

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The outcomes of a check. Only checkFail changes the exit code.
const (
	checkOK      = wire.CheckOK
	checkWarn    = wire.CheckWarn
	checkFail    = wire.CheckFail
	checkSkipped = wire.CheckSkipped
)

// check is one check and its outcome.
type check = wire.Check

// diagnosis is the result of all checks.
type diagnosis struct {
	Healthy bool    `json:"healthy"`
	Checks  []check `json:"checks"`
	docs    string  // address of the server's documentation; "" if the server does not answer
}

func newDoctorCmd(p *program) *cobra.Command {
	var ops, token string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Diagnose the connection and the server", Args: exactArgs(),
		Long: `Diagnose the connection and the server: configuration, connection, readiness,
token, signing key, clock and freshness of the board. With a token that has
score:operate, also run the server's own checks: version, PostgreSQL, Redis, Kafka,
outbox and transport backlog, disk and configuration. Each problem comes with a
next step, and with the page of the server's documentation that has every step.
Exit code 3: a check failed.

--token checks another token than that of the connection, such as a player's, and
says why the server rejects it; - reads it from stdin.

--output nagios prints one line and uses the exit codes of Nagios: 0 OK, 1 warning,
2 critical. --output prometheus prints metrics for a textfile collector.

Readiness is checked at the operations address: --ops, else SBCTL_OPS_SERVER (which
"scoreboardd dev" writes to .dev/sbctl.env), else the server's host and the next port.`,
		Example: trimExamples(`
  sbctl doctor
  sbctl doctor --server https://scores.example.com --output json
  cat player.jwt | sbctl doctor --token -
  sbctl doctor --output prometheus > /var/lib/node_exporter/scoreboard.prom`),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.connection()
			if err != nil {
				return err
			}
			if s.Token, err = p.tokenToCheck(s.Token, token); err != nil {
				return err
			}
			d := diagnose(cmd.Context(), p.connector, s, opsServer(s, ops))
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			switch p.format {
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
				return errCheckFailed
			}
			return nil
		},
	}
	cmd.Annotations = map[string]string{extraOutputs: "nagios prometheus"}
	cmd.Flags().StringVar(&ops, "ops", "", opsFlagUsage)
	cmd.Flags().StringVar(&token, "token", "", "token to check; - reads it from stdin")
	return cmd
}

// tokenToCheck returns the token of the flag, else that of the connection.
func (p *program) tokenToCheck(connected option, flag string) (option, error) {
	switch flag {
	case "":
		return connected, nil
	case "-":
		text, err := io.ReadAll(io.LimitReader(p.stdin, 1<<16))
		return option{strings.TrimSpace(string(text)), tokenFlag}, err
	}
	return option{strings.TrimSpace(flag), tokenFlag}, nil
}

// tokenFlag is the origin of a token that is not the connection's.
const tokenFlag = "--token"

func diagnosisTable(d diagnosis) *table {
	t := newTable("CHECK", "STATUS", "DETAIL")
	for _, c := range d.Checks {
		t.add(c.Name, c.Status, c.Detail)
		if c.NextStep != "" {
			t.add("", "", "→ "+c.NextStep)
		}
		if c.Page != "" && d.docs != "" {
			t.add("", "", "→ "+d.docs+c.Page)
		}
	}
	return t
}

const opsFlagUsage = "operations address of the server (default SBCTL_OPS_SERVER, else the server's host and next port)"

// opsServer returns the operations address of a flag or the connection, else a
// guess: the default operations port is the one after the API's.
func opsServer(s connection, flag string) option {
	if flag != "" {
		return option{addScheme(flag), "--ops"}
	}
	if s.Ops.Value != "" {
		return option{addScheme(s.Ops.Value), s.Ops.From}
	}
	u, err := url.Parse(s.Server.Value)
	if err != nil {
		return option{}
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return option{}
	}
	return option{"http://" + net.JoinHostPort(u.Hostname(), strconv.Itoa(port+1)), guessed}
}

// guessed is the origin of an operations address that was not configured.
const guessed = "a guess"

// The exit codes of Nagios plugins.
const (
	nagiosWarning  = 1
	nagiosCritical = 2
)

// exitCode ends a command with a code of its own; its output is already printed.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// nagios prints one line of plugin output: the problems, then the counts as
// performance data.
func (d diagnosis) nagios(w io.Writer) error {
	count := map[string]int{}
	var problems []string
	for _, c := range d.Checks {
		count[c.Status]++
		if c.Status == checkFail || c.Status == checkWarn {
			problems = append(problems, c.Name+": "+c.Detail)
		}
	}
	word, code := "OK", 0
	switch {
	case count[checkFail] > 0:
		word, code = "CRITICAL", nagiosCritical
	case count[checkWarn] > 0:
		word, code = "WARNING", nagiosWarning
	}
	text := english.Count(len(d.Checks), "check")
	if len(problems) > 0 {
		text = strings.Join(problems, "; ")
	}
	_, err := fmt.Fprintf(w, "SCOREBOARD %s - %s | ok=%d warn=%d fail=%d skipped=%d\n",
		word, strings.ReplaceAll(scoreboard.Escape(text), "|", "/"),
		count[checkOK], count[checkWarn], count[checkFail], count[checkSkipped])
	if err != nil || code == 0 {
		return err
	}
	return exitCode(code)
}

// prometheus prints metrics for a textfile collector.
func (d diagnosis) prometheus(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# HELP scoreboard_doctor_healthy Whether no check failed.\n" +
		"# TYPE scoreboard_doctor_healthy gauge\n")
	healthy := 0
	if d.Healthy {
		healthy = 1
	}
	fmt.Fprintf(&b, "scoreboard_doctor_healthy %d\n", healthy)
	b.WriteString("# HELP scoreboard_doctor_check Outcome of a check: 1 for its current status, else 0.\n" +
		"# TYPE scoreboard_doctor_check gauge\n")
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
