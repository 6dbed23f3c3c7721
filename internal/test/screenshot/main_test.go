package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

func TestDrawingIsWellFormedAndKeepsSpaces(t *testing.T) {
	t.Parallel()
	svg := draw("\x1b[1;31mred\x1b[0m   a<b  健 x\n\x1b[38;2;1;2;3m██▌\x1b[39m │─╮\n\x1b[7m  \x1b[0m")
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
	}
	for _, want := range []string{
		`<text x="14" y="27" fill="#f38ba8" font-weight="bold" textLength="25.2"`, // red
		`<text x="64.4"`, // a<b, after three spaces
		`a&lt;b`,
		`x="14" y="32" width="16.8" height="18" fill="#010203"`, // two blocks at once
		`fill="none" stroke=`,                            // a corner
		`y="50" width="16.8" height="18" fill="#cdd6f4"`, // reversed spaces
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing has no %s:\n%s", want, svg)
		}
	}
}

// An animation is XML, shows each screen in its turn, and draws a row of several screens once.
func TestAnimationSharesRows(t *testing.T) {
	t.Parallel()
	svg := animate([]string{"same\none", "same\ntwo", "same\nthree"}, 2*time.Second)
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
	}
	for want, n := range map[string]int{
		">same<": 1, ">two<": 1, `<use href="#r0"`: 3, `dur="6s"`: 2, `visibility="hidden"`: 2,
		`values="hidden;visible;hidden" keyTimes="0;0.33333;0.66667"`: 1,
		`values="hidden;visible" keyTimes="0;0.66667"`:                1,
	} {
		if got := strings.Count(svg, want); got != n {
			t.Errorf("%s: got %d, want %d in\n%s", want, got, n, svg)
		}
	}
}

func TestRecording(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	go func() {
		for _, part := range []string{"a\xe2", "\x96\x88b", "c"} {
			_, _ = io.WriteString(w, part)
		}
		_ = w.Close()
	}()
	var out strings.Builder
	if err := write(&out, pty.Winsize{Cols: 80, Rows: 24}, time.Now(), r); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	all := ""
	for _, line := range lines[1:] {
		var event []any
		if err := json.Unmarshal([]byte(line), &event); err != nil || len(event) != 3 || event[1] != "o" {
			t.Fatalf("%s: %v", line, err)
		}
		all += event[2].(string)
	}
	if !strings.Contains(lines[0], `"version":2`) || all != "a█bc" {
		t.Errorf("got %q and %q, want version 2 and a█bc: characters are not cut", lines[0], all)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	keys, err := parseKeys(`0.5:j 2:\r 3:\x1b`)
	if err != nil || len(keys) != 3 || keys[0] != (press{500 * time.Millisecond, "j"}) || keys[1].text != "\r" ||
		keys[2].text != "\x1b" {
		t.Errorf("got %v, %v", keys, err)
	}
	if _, err := parseKeys("j"); err == nil {
		t.Error("a key without a time was accepted")
	}
}
