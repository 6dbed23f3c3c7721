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
func (out *output) page(text string) error {
	command, set := out.env["PAGER"]
	if !set {
		command = defaultPager
	}
	words := strings.Fields(command)
	_, height := terminalSize(out.stdout)
	fits := strings.Count(text, "\n") < height
	if fits || !out.redraws(out.stdout) || !isTerminal(out.stdin) ||
		len(words) == 0 || words[0] == "cat" {
		_, err := io.WriteString(out.stdout, text)
		return err
	}
	pager := exec.Command(words[0], words[1:]...) //nolint:noctx // Ctrl-C is a key of the pager
	pager.Stdin, pager.Stdout, pager.Stderr = strings.NewReader(text), out.stdout, out.stderr
	pager.Env = environment(out.env).Environ()
	err := pager.Run()
	if errors.Is(err, exec.ErrNotFound) {
		_, err = io.WriteString(out.stdout, text)
	}
	return err
}
