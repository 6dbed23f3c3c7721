package main

import (
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/scoreboard/scoreboard/loadgen"
)

// follow shows how a load goes: in a small view on a terminal, else a line a
// second. end takes the view away.
func (p *program) follow(o *loadgen.Options) (end func()) {
	if p.quiet || !isTerminal(p.stderr) {
		o.Show = func(g loadgen.Progress) { p.say("%s", progressLine(&g)) }
		return func() {}
	}
	// Without input the terminal stays as it is, and Ctrl-C is still a signal.
	view := tea.NewProgram(loadView{bold: lipgloss.NewStyle().Bold(true)}, tea.WithInput(nil), tea.WithOutput(p.stderr), tea.WithoutSignalHandler())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = view.Run() // what it cannot show is in the report
	}()
	o.Show = func(g loadgen.Progress) { view.Send(g) }
	o.Say = func(format string, args ...any) { view.Send(tea.Println(fmt.Sprintf(format, args...))()) }
	return func() {
		view.Quit()
		<-ended
	}
}

// progressLine is the view in a line.
func progressLine(g *loadgen.Progress) string {
	line := fmt.Sprintf("%6.0f s  asked %.0f/s, answered %.0f/s, late %.1f ms; p50 %.1f, p95 %.1f, p99 %.1f ms; %d failed%s; outbox %d, to consume %d",
		g.Elapsed.Seconds(), g.Target, g.Achieved, g.Late.P99, g.API.P50, g.API.P95, g.API.P99, g.Failed, kinds(g), g.OutboxDepth, g.Lag)
	if g.HasFreshness() {
		line += fmt.Sprintf("; Redis %.0f, client %.0f ms", g.Redis, g.Client)
	}
	return line
}

// kinds are the most frequent failures.
func kinds(g *loadgen.Progress) string {
	const most = 3
	var words []string
	for i, e := range g.Errors {
		if i == most {
			words = append(words, "…")
			break
		}
		words = append(words, fmt.Sprintf("%d x %s", e.N, e.What))
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// loadView is the view.
type loadView struct {
	bold lipgloss.Style
	now  *loadgen.Progress
}

// Init implements tea.Model.
func (v loadView) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (v loadView) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	if g, ok := m.(loadgen.Progress); ok {
		v.now = &g
	}
	return v, nil
}

// View implements tea.Model.
func (v loadView) View() string {
	if v.now == nil {
		return ""
	}
	g := v.now
	const width = 40
	done := min(int(width*g.Elapsed/max(g.Length, time.Second)), width)
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s  %v of %v\n", strings.Repeat("━", done), strings.Repeat("─", width-done), g.Elapsed.Round(time.Second), g.Length)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-22s %s\n", name, v.bold.Render(fmt.Sprintf(format, args...)))
	}
	row("asked / answered", "%.0f / %.0f a second", g.Target, g.Achieved)
	row("from due", "p50 %.1f   p95 %.1f   p99 %.1f ms", g.API.P50, g.API.P95, g.API.P99)
	row("sent late by", "p99 %.1f ms", g.Late.P99)
	row("failed", "%d%s", g.Failed, kinds(g))
	row("waiting", "%d in the outbox, %d to consume", g.OutboxDepth, g.Lag)
	if g.HasFreshness() {
		row("seen after, p95", "%.0f ms in Redis, %.0f ms by clients", g.Redis, g.Client)
	}
	return b.String()
}
