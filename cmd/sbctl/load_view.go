package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/scoreboard/scoreboard/internal/spark"
	"github.com/scoreboard/scoreboard/loadgen"
)

// followLoad shows the progress of a load: a small view on a terminal, else a line a
// second. end removes the view.
func followLoad(out *output, o *loadgen.Options) (end func()) {
	if out.quiet || !out.redraws(out.stderr) {
		o.Show = func(g loadgen.Progress) { out.infof("%s", progressLine(&g)) }
		return func() {}
	}
	// Without input the terminal keeps its mode, and Ctrl-C is still a signal.
	view := tea.NewProgram(loadView{bold: lipgloss.NewStyle().Bold(true)},
		tea.WithInput(nil), tea.WithOutput(out.stderr), tea.WithoutSignalHandler())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = view.Run() // a view that fails is no loss: the report has the figures
	}()
	o.Show = func(g loadgen.Progress) { view.Send(g) }
	o.Say = func(format string, args ...any) { view.Send(tea.Println(fmt.Sprintf(format, args...))()) }
	return func() {
		view.Quit()
		<-ended
	}
}

// progressLine is the view as one line.
func progressLine(g *loadgen.Progress) string {
	line := fmt.Sprintf("%6.0f s  target %.0f/s, answered %.0f/s, late %.1f ms; p50 %.1f, p95 %.1f, p99 %.1f ms; "+
		"%d failed%s; outbox %d, lag %d",
		g.Elapsed.Seconds(), g.Target, g.Achieved, g.Late.P99, g.API.P50, g.API.P95, g.API.P99,
		g.Failed, kinds(g), g.OutboxDepth, g.Lag)
	if g.HasFreshness() {
		line += fmt.Sprintf("; Redis %.0f, client %.0f ms", g.Redis, g.Client)
	}
	return line
}

// kinds lists the most frequent failures.
func kinds(g *loadgen.Progress) string {
	const shown = 3
	var words []string
	for i, e := range g.Errors {
		if i == shown {
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

// loadView is the view on a terminal.
type loadView struct {
	bold     lipgloss.Style
	now      *loadgen.Progress
	answered []float64 // requests in each of the last seconds, oldest first
}

// The size of a chart, in characters. A column is a second, or an interval of a long run's timeline.
const loadChartWidth, loadChartHeight = 40, 3

// Init implements tea.Model.
func (v loadView) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (v loadView) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	if g, ok := m.(loadgen.Progress); ok {
		v.now = &g
		v.answered = append(slices.Clone(last(v.answered, loadChartWidth-1)), g.Achieved)
	}
	return v, nil
}

// last returns the last n values.
func last(values []float64, n int) []float64 { return values[max(0, len(values)-n):] }

// chart draws values beside their name, up to a top, which has a label.
func (v loadView) chart(name string, values []float64, top float64, label string) string {
	var b strings.Builder
	for i, line := range spark.Columns(values, top, loadChartHeight, spark.Blocks) {
		if i > 0 {
			name, label = "", ""
		}
		line += strings.Repeat(" ", loadChartWidth-len(values))
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-22s %s %s", name, line, label), " ") + "\n")
	}
	return b.String()
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
	fmt.Fprintf(&b, "%s%s  %v of %v\n", strings.Repeat("━", done), strings.Repeat("─", width-done),
		g.Elapsed.Round(time.Second), g.Length)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-22s %s\n", name, v.bold.Render(fmt.Sprintf(format, args...)))
	}
	row("target / answered", "%.0f / %.0f per second", g.Target, g.Achieved)
	row("from scheduled time", "p50 %.1f   p95 %.1f   p99 %.1f ms", g.API.P50, g.API.P95, g.API.P99)
	row("sent late by", "p99 %.1f ms", g.Late.P99)
	row("failed", "%d%s", g.Failed, kinds(g))
	row("backlog", "%d in the outbox, %d to consume", g.OutboxDepth, g.Lag)
	if g.HasFreshness() {
		row("visible after, p95", "%.0f ms in Redis, %.0f ms by clients", g.Redis, g.Client)
	}
	if top := max(slices.Max(v.answered), g.Target); top > 0 {
		b.WriteString(v.chart("answered each second", v.answered, top, fmt.Sprintf("%.0f/s", top)))
	}
	if p99 := last(g.P99s, loadChartWidth); len(p99) > 0 && slices.Max(p99) > 0 {
		b.WriteString(v.chart("p99 over time", p99, slices.Max(p99), fmt.Sprintf("%.1f ms", slices.Max(p99))))
	}
	return b.String()
}
