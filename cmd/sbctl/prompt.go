package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// prompt asks the person at the terminal.
type prompt struct {
	*process
	yes bool // --yes: confirmations are skipped
}

// confirmation asks before changes to the server.
type confirmation struct {
	prompt *prompt
	to     *connector
}

// confirm asks before a destructive change to the server. The question begins with what
// it is about: the server, the profile and the operator. Without a terminal it requires
// --yes. A request that is only printed needs no confirmation.
func (c *confirmation) confirm(ctx context.Context, question string) error {
	s, err := c.to.connection()
	if err != nil || c.to.curl {
		return err
	}
	return c.prompt.confirmOn(ctx, s.context(), question)
}

// confirmOn asks about a change to something else than the server.
func (pr *prompt) confirmOn(ctx context.Context, where, question string) error {
	if pr.yes {
		return nil
	}
	if !isTerminal(pr.stdin) {
		return usagef("%s: %s No terminal to confirm on; pass --yes", where, question)
	}
	answer, err := pr.ask(ctx, where+"\n"+question+" [y/N] ")
	if err != nil {
		return err
	}
	if answer = strings.ToLower(answer); answer == "y" || answer == "yes" {
		return nil
	}
	return errors.New("not confirmed")
}

// context describes what a command would change: the server, where its address is from,
// and the operator.
func (s connection) context() string {
	from := s.Server.From
	if s.Profile != "" && from != "profile "+s.Profile {
		from += ", profile " + s.Profile
	}
	return fmt.Sprintf("%s (from %s), as %s", s.Server.Value, from, s.operator())
}

// operator is the user of the connection's token.
func (s connection) operator() string {
	if s.Token.Value == "" {
		return "an anonymous client (no token is set)"
	}
	claims, err := readClaims(s.Token.Value)
	if err != nil || claims.Subject == "" {
		return "the user of the token from " + s.Token.From
	}
	return claims.Subject
}

// ask prints a prompt on stderr and reads a line from the terminal.
func (pr *prompt) ask(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(pr.stderr, escapeLines(prompt))
	return pr.readAnswer(ctx, func() (string, error) {
		line, err := bufio.NewReader(pr.stdin).ReadString('\n')
		if errors.Is(err, io.EOF) { // Ctrl-D is an empty answer
			err = nil
		}
		return strings.TrimSpace(line), err
	})
}

// askHidden is ask for a secret, which the terminal does not show.
func (pr *prompt) askHidden(ctx context.Context, prompt string) (string, error) {
	fd := pr.stdin.(*os.File).Fd() // the caller checked that it is a terminal
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read the terminal's state: %w", err)
	}
	fmt.Fprint(pr.stderr, scoreboard.Escape(prompt))
	secret, err := pr.readAnswer(ctx, func() (string, error) {
		b, err := term.ReadPassword(fd)
		fmt.Fprintln(pr.stderr)
		return strings.TrimSpace(string(b)), err
	})
	if ctx.Err() != nil { // the reader still waits, and the terminal must show again what is typed
		return "", errors.Join(ctx.Err(), term.Restore(fd, before))
	}
	return secret, err
}

// readAnswer ends with ctx, although read cannot be interrupted.
func (pr *prompt) readAnswer(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		answer string
		err    error
	}
	answers := make(chan result, 1)
	go func() {
		answer, err := read()
		answers <- result{answer, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(pr.stderr)
		return "", ctx.Err()
	case r := <-answers:
		if r.err != nil {
			return "", fmt.Errorf("read the answer: %w", r.err)
		}
		return r.answer, nil
	}
}
