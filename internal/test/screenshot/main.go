// Command screenshot makes the pictures of the documentation from running programs.
//
//	screenshot svg < screen.ansi > screen.svg      # draw a screen, as tmux capture-pane -pe prints it
//	screenshot animate --every 1s < frames > demo.svg   # several such screens, separated by form feeds
//	screenshot record --size 110x32 --keys '8:j 10:\r' --for 60s -- sbctl watch > demo.cast
//
// record runs a program on a terminal of its own, types keys at given seconds, and writes
// an asciicast (version 2) of its output.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("screenshot: ")
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	switch {
	case len(args) == 1 && args[0] == "svg":
		screen, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		_, err = io.WriteString(out, draw(string(screen)))
		return err
	case len(args) > 0 && args[0] == "animate":
		flags := flag.NewFlagSet("animate", flag.ContinueOnError)
		every := flags.Duration("every", time.Second, "how long each screen is shown")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		frames, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		_, err = io.WriteString(out, animate(strings.Split(strings.Trim(string(frames), "\f\n"), "\f"), *every))
		return err
	case len(args) > 0 && args[0] == "record":
		return record(args[1:], out)
	case len(args) > 0 && args[0] == "page":
		return page(args[1:])
	}
	return fmt.Errorf("usage: screenshot svg|animate|record|page")
}

// press is a key at a time after the start.
type press struct {
	at   time.Duration
	text string
}

// parseKeys reads keys such as "8:j 10.5:\r": seconds and a Go string.
func parseKeys(text string) (keys []press, err error) {
	for _, one := range strings.Fields(text) {
		at, typed, _ := strings.Cut(one, ":")
		seconds, err := strconv.ParseFloat(at, 64)
		if err != nil {
			return nil, fmt.Errorf("invalid key %q: %w", one, err)
		}
		typed, err = strconv.Unquote(`"` + typed + `"`)
		if err != nil {
			return nil, fmt.Errorf("invalid key %q: %w", one, err)
		}
		keys = append(keys, press{time.Duration(seconds * float64(time.Second)), typed})
	}
	return keys, nil
}

func record(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("record", flag.ContinueOnError)
	size := flags.String("size", "110x32", "columns and rows")
	typed := flags.String("keys", "", "keys, such as '8:j 10:\\r'")
	duration := flags.Duration("for", time.Minute, "when the program is ended")
	if err := flags.Parse(args); err != nil {
		return err
	}
	keys, err := parseKeys(*typed)
	if err != nil {
		return err
	}
	var ws pty.Winsize
	if _, err := fmt.Sscanf(*size, "%dx%d", &ws.Cols, &ws.Rows); err != nil || flags.NArg() == 0 {
		return fmt.Errorf("usage: screenshot record --size 110x32 -- COMMAND")
	}
	cmd := exec.CommandContext(context.Background(), flags.Arg(0), flags.Args()[1:]...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=") // fewer bytes than true colours
	terminal, err := pty.StartWithSize(cmd, &ws)
	if err != nil {
		return err
	}
	defer func() { _ = terminal.Close() }()
	start := time.Now()
	timers := []*time.Timer{time.AfterFunc(*duration, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })}
	for _, k := range keys {
		timers = append(timers, time.AfterFunc(k.at, func() { _, _ = io.WriteString(terminal, k.text) }))
	}
	defer func() {
		for _, t := range timers {
			t.Stop()
		}
	}()
	if err := write(out, ws, start, terminal); err != nil {
		return err
	}
	_ = cmd.Wait() // ended by the timer or by a key
	return nil
}

// write copies the output of a terminal to an asciicast until it ends.
func write(out io.Writer, ws pty.Winsize, start time.Time, terminal io.Reader) error {
	w := bufio.NewWriter(out)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	header := map[string]any{
		"version": 2, "width": ws.Cols, "height": ws.Rows, "timestamp": start.Unix(), "title": "make demo",
		"env": map[string]string{"TERM": "xterm-256color"},
	}
	if err := encoder.Encode(header); err != nil {
		return err
	}
	var held []byte // the start of a character that was cut
	b := make([]byte, 32<<10)
	for {
		n, err := terminal.Read(b)
		text := append(held, b[:n]...)
		held = nil
		if err == nil {
			text, held = whole(text)
		}
		if len(text) > 0 {
			at := math.Round(time.Since(start).Seconds()*1000) / 1000
			if err := encoder.Encode([]any{at, "o", string(text)}); err != nil {
				return err
			}
		}
		if err != nil {
			return w.Flush()
		}
	}
}

// whole splits off an incomplete character at the end.
func whole(b []byte) (text, rest []byte) {
	for i := 1; i <= min(3, len(b)); i++ {
		c := b[len(b)-i]
		if c&0xc0 == 0x80 {
			continue // within a character
		}
		if size := map[byte]int{0xc0: 2, 0xe0: 3, 0xf0: 4}[c&0xf0]; size > i {
			return b[:len(b)-i], append([]byte(nil), b[len(b)-i:]...)
		}
		break
	}
	return b, nil
}
