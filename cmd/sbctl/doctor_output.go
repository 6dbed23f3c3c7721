package main

import (
	"fmt"
	"io"
	"strings"
)

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
