package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
)

//go:embed report.html.tmpl
var page string

// HTML writes the report as a self-contained page.
func (r *Report) HTML(w io.Writer) error { return r.CompareHTML(w, nil) }

// CompareHTML writes the report with a comparison to another run, which may be nil.
func (r *Report) CompareHTML(w io.Writer, other *Report) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"ms":    func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"count": grouped,
	}).Parse(page)
	if err != nil {
		return fmt.Errorf("parse the page: %w", err)
	}
	type line struct {
		Name string
		L    Latency
		N    uint64
	}
	var rows []line
	for _, row := range r.rows() {
		if row.l.N > 0 {
			rows = append(rows, line{row.name, row.l, uint64(row.l.N)})
		}
	}
	type verdict struct {
		Criterion
		Shown, Word string
	}
	var verdicts []verdict
	for _, c := range r.lines() {
		verdicts = append(verdicts, verdict{c, c.shown, c.verdict()})
	}
	data := map[string]any{
		"Report": r, "Headline": r.headline(), "Verdicts": verdicts, "Rows": rows,
		"Responses": r.responses(), "Parameters": parameterLines(r.Parameters), "Charts": r.charts(other),
	}
	if other != nil {
		data["Other"], data["Pairs"] = other.headline(), append(differences(r, other), compare(r, other)...)
	}
	return t.Execute(w, data)
}

// grouped formats a count with thousands separators.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// The colours of the lines, distinguishable with colour blindness. They are defined
// in the page's style sheet.
const blue, orange, green, grey = "blue", "orange", "green", "grey"

// charts draws the run, and in grey the latency of the other run.
func (r *Report) charts(other *Report) []template.HTML {
	var at, target, sent, failed, p50, p99, depth, oldest, lag, toRedis, toClient []float64
	for _, s := range r.Timeline {
		at, target = append(at, s.At), append(target, s.Target)
		sent, failed = append(sent, s.Sent), append(failed, s.Errors)
		p50, p99 = append(p50, s.P50), append(p99, s.P99)
		depth, oldest = append(depth, float64(s.OutboxDepth)), append(oldest, float64(s.OldestMS))
		lag = append(lag, float64(s.Lag))
		toRedis, toClient = append(toRedis, s.Redis), append(toClient, s.Client)
	}
	draw := func(title string, log bool, unit string, lines ...series) template.HTML {
		x := axis{0, max(r.Seconds, 1), false, ""}
		for i := range lines {
			if lines[i].x == nil {
				lines[i].x = at
			} else if other != nil {
				x.max = max(x.max, other.Seconds)
			}
		}
		seconds := func(v float64) string { return tick(v) + " s" }
		return chart(title, x, x.marks(), seconds, yAxis(lines, log, unit), lines)
	}
	latency := []series{{name: "p50", colour: blue, y: p50}, {name: "p99", colour: orange, y: p99}}
	if other != nil {
		was := series{name: "p99 of the other run", colour: grey}
		for _, s := range other.Timeline {
			was.x, was.y = append(was.x, s.At), append(was.y, s.P99)
		}
		latency = append(latency, was)
	}
	charts := []template.HTML{
		draw("Latency of increments from scheduled time", true, " ms", latency...),
		r.percentiles(other),
		draw("Requests per second", false, "",
			series{name: "target", colour: grey, y: target}, series{name: "sent", colour: blue, y: sent},
			series{name: "failed", colour: orange, y: failed}),
	}
	if r.Freshness["redis"].N+r.Freshness["client"].N > 0 {
		charts = append(charts, draw("Worst freshness", true, " ms",
			series{name: "commit to Redis", colour: green, y: toRedis},
			series{name: "commit to client", colour: blue, y: toClient}))
	}
	return append(charts, draw("Outbox and consumer", false, "",
		series{name: "rows in the outbox", colour: blue, y: depth},
		series{name: "age of the oldest row, ms", colour: orange, y: oldest},
		series{name: "records to consume", colour: green, y: lag}))
}

// percentiles draws latency by percentile. Each additional nine has the same
// width.
func (r *Report) percentiles(other *Report) template.HTML {
	of := func(name, colour string, l Latency) series {
		s := series{name: name, colour: colour}
		if l.N == 0 {
			return s
		}
		s.x = []float64{2, 10, 20, 100, 1000, 10_000}
		s.y = []float64{l.P50, l.P90, l.P95, l.P99, l.P999, l.P9999}
		return s
	}
	lines := []series{
		of("increments from scheduled time", blue, r.Latency), of("increments from send time", grey, r.Service),
		of("reads from scheduled time", green, r.Reads),
	}
	if other != nil {
		lines = append(lines, of("increments of the other run", orange, other.Latency))
	}
	label := map[float64]string{2: "p50", 10: "p90", 100: "p99", 1000: "p99.9", 10_000: "p99.99"}
	return chart("Latency by percentile", axis{2, 10_000, true, ""}, []float64{2, 10, 100, 1000, 10_000},
		func(v float64) string { return label[v] }, yAxis(lines, true, " ms"), lines)
}
