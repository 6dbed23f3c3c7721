package main

import (
	"errors"
	"io"
	"os/exec"
	"strings"
)

// defaultPager shows a text that fits on the screen without waiting for a key.
const defaultPager = "less -FRX"

// page prints a text. On a terminal that it does not fit on, it goes through PAGER, by
// default less; an empty PAGER, or cat, prints it.
func (p *program) page(text string) error {
	_, height := terminalSize(p.stdout)
	if !isTerminal(p.stdout) || !isTerminal(p.stdin) || strings.Count(text, "\n") < height || p.env["TERM"] == "dumb" {
		_, err := io.WriteString(p.stdout, text)
		return err
	}
	command, set := p.env["PAGER"]
	if !set {
		command = defaultPager
	}
	words := strings.Fields(command)
	if len(words) == 0 || words[0] == "cat" {
		_, err := io.WriteString(p.stdout, text)
		return err
	}
	pager := exec.Command(words[0], words[1:]...) //nolint:noctx // Ctrl-C is a key of the pager
	pager.Stdin, pager.Stdout, pager.Stderr = strings.NewReader(text), p.stdout, p.stderr
	pager.Env = environment(p.env).Environ()
	err := pager.Run()
	if errors.Is(err, exec.ErrNotFound) {
		_, err = io.WriteString(p.stdout, text)
	}
	return err
}
