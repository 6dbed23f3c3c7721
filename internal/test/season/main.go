// Command season writes testdata/events/season.ndjson and first-day.csv: ten
// thousand events of a game as its servers would report them, including repeats
// after time-outs, mistakes in the reports and a line cut off by a crash. Its
// output is always the same:
//
//	go run ./internal/test/season testdata/events
package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// total is how many lines the season has.
const total = 10_000

// event is a valid line.
type event struct {
	User   string `json:"user_id"`
	Delta  int64  `json:"delta"`
	Event  string `json:"event_id,omitempty"`
	Board  string `json:"board,omitempty"`
	Action string `json:"action,omitempty"`
}

var (
	first = []string{
		"ada", "grace", "linus", "miyu", "olu", "zoe", "iker", "noor", "sven", "tara",
		"kofi", "lena", "raj", "yara", "tomas", "wen", "bea", "dmitri", "ines", "juno",
	}
	second = []string{
		"fox", "byte", "storm", "pixel", "wolf", "nova", "quill", "moss", "ember", "tide", "crow", "flint",
	}
	// What a player earns in a match, with the weight of each action.
	actions = []struct {
		name     string
		min, max int64
		weight   int
	}{{"kill", 1, 3, 60}, {"assist", 1, 1, 25}, {"capture", 5, 10, 10}, {"win", 25, 25, 4}, {"quest", 50, 250, 1}}
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: season FOLDER")
	}
	if err := write(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func write(folder string) error {
	lines, events := season(rand.New(rand.NewPCG(2026, 11)))
	if err := os.WriteFile(
		filepath.Join(folder, "season.ndjson"), []byte(strings.Join(lines, "\n")+"\n"), 0o644,
	); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(folder, "first-day.csv"))
	if err != nil {
		return err
	}
	w := csv.NewWriter(file)
	rows := [][]string{{"user_id", "delta", "event_id", "action"}}
	for _, e := range events[:200] {
		rows = append(rows, []string{e.User, strconv.FormatInt(e.Delta, 10), e.Event, e.Action})
	}
	rows[50][1] = "a lot"
	rows[120] = rows[90] // reported twice
	if err := w.WriteAll(rows); err != nil {
		return err
	}
	return file.Close()
}

// season returns the lines of the season and its valid events.
func season(r *rand.Rand) (lines []string, events []event) {
	players := make([]string, 400)
	for i := range players {
		players[i] = first[r.IntN(len(first))] + "_" + second[r.IntN(len(second))] + strconv.Itoa(i)
	}
	match := 0
	for len(lines) < total {
		match++
		// A few players take part in most matches.
		squad := make([]string, 2+r.IntN(8))
		for i := range squad {
			squad[i] = players[int(math.Pow(r.Float64(), 2.5)*float64(len(players)))]
		}
		for n := range 3 + r.IntN(20) {
			e := play(r, squad, match, n)
			events = append(events, e)
			lines = append(lines, line(e))
			switch p := r.Float64(); {
			case p < 0.03: // the reporter timed out and retries
				lines = append(lines, line(e))
			case p < 0.04: // a reporter restarts and resends its queue
				for _, again := range events[max(0, len(events)-3):] {
					lines = append(lines, line(again))
				}
			case p < 0.0465:
				lines = append(lines, mistake(r, e))
			}
		}
	}
	return lines[:total], events
}

func play(r *rand.Rand, squad []string, match, n int) event {
	e := event{User: squad[r.IntN(len(squad))], Event: fmt.Sprintf("m%05d:%02d", match, n)}
	roll := r.IntN(100)
	for _, a := range actions {
		if roll -= a.weight; roll < 0 {
			e.Action, e.Delta = a.name, a.min+r.Int64N(a.max-a.min+1)
			break
		}
	}
	if r.IntN(10) == 0 {
		e.Board = "global"
	}
	return e
}

func line(e event) string {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err) // strings and integers marshal
	}
	return string(b)
}

// mistake returns a line that the server must reject, made from a valid one. It
// has an event id of its own, unless the mistake is to reuse one.
func mistake(r *rand.Rand, e event) string {
	own := e
	own.Event += "x"
	text := line(own)
	switch r.IntN(10) {
	case 0:
		e.Delta += 100
		return line(e) // the event id of another increment
	case 1:
		return strings.Replace(
			text,
			`"delta":`+strconv.FormatInt(e.Delta, 10),
			`"delta":"`+strconv.FormatInt(e.Delta, 10)+`"`,
			1,
		)
	case 2:
		return strings.Replace(text, `"delta":`, `"delta":0.5`, 1)
	case 3:
		return strings.Replace(text, `"delta":`, `"dleta":`, 1)
	case 4:
		own.Delta = -own.Delta
	case 5:
		own.Delta = 5_000_000
	case 6:
		own.Board = "globl"
	case 7:
		own.User = strings.Replace(own.User, "_", " ", 1)
	case 8:
		own.User = ""
	default:
		return text[:len(text)/2] // the reporter crashed here
	}
	return line(own)
}
