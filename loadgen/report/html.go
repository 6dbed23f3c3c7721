package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/scoreboard/scoreboard/internal/design"
	"github.com/scoreboard/scoreboard/internal/english"
)

//go:embed report.html.tmpl
var pageTemplate string

//go:embed report.js
var pageScript string

// card is a figure at the top of the page.
type card struct {
	Title, Value, Note string
	Class              string // of its colour: good, bad, part, or empty
	Change, Result     string // from the run that it is compared with
	metric             string // its name in a comparison
}

// HTML writes the report as a self-contained page, with the comparison if there is one. All
// but the tooltips and the zoom work without scripts.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"ms":        func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"count":     english.Grouped,
		"parameter": parameterText,
		"mark":      func(result string) string { return resultMarks[result] },
	}).Parse(pageTemplate)
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
		Shown, Bound, Word, Gives string
	}
	var verdicts []verdict
	for _, c := range r.lines() {
		line := verdict{c, c.shown, c.shownLimit(), c.verdict(), ""}
		if c.Machine != nil {
			line.Gives = english.Grouped(uint64(*c.Machine))
		}
		verdicts = append(verdicts, line)
	}
	charts := r.charts()
	figures := make([]map[string]any, len(charts))
	for i, c := range charts {
		figures[i] = c.data()
	}
	data := map[string]any{
		"Report": r, "Headline": r.headline(), "Cards": r.cards(), "Verdicts": verdicts, "Rows": rows,
		"Responses": r.responses(), "Parameters": r.Parameters, "Charts": charts, "Figures": figures,
		"Script": template.JS(pageScript), "Tokens": design.CSS(), // embedded
	}
	if c := r.Comparison; c != nil {
		data["Other"], data["OtherHeadline"] = c.other, c.other.headline()
	}
	return t.Execute(w, data)
}

// resultMarks precede the results of a comparison, so that they need no colour.
var resultMarks = map[string]string{
	Regressed: "✗", Missing: "✗", Improved: "✓", "mismatch": "✗", "differs": "!", New: "!",
}

// cards are the figures that matter most.
func (r *Report) cards() []card {
	verdict := card{Title: "Verdict", Value: r.Verdict, Note: r.criteriaMet()}
	verdict.Class = map[string]string{Passed: "good", Failed: "bad", Scaled: "part", Undecidable: "part"}[r.Verdict]
	seconds := max(r.Seconds, 0.001)
	cards := []card{
		verdict,
		{
			metric: "increments.rate", Title: "Increments", Value: withUnit(r.Rate, perSecond),
			Note: fmt.Sprintf("%s of %s requests/s sent", withUnit(float64(r.Sent)/seconds, ""),
				withUnit(float64(r.Scheduled)/seconds, "")),
		},
	}
	if r.Reads.N > 0 {
		cards = append(cards, card{
			metric: "reads.rate", Title: "Reads", Value: withUnit(r.ReadsRate, perSecond),
			Note: "p95 " + withUnit(r.Reads.P95, milliseconds),
		})
	}
	failed := r.Sent - r.Succeeded - r.CutOff
	errors := card{metric: "errors", Title: "Errors", Value: "–", Note: "nothing was sent"}
	if percentage, sent := r.Measured["errors"]; sent {
		errors.Value = withUnit(percentage, share)
		errors.Note = fmt.Sprintf("%s of %s requests", english.Grouped(failed), english.Grouped(r.Sent))
	}
	cards = append(cards, errors)
	if r.Latency.N > 0 {
		for _, q := range []struct {
			name  string
			value float64
		}{{"p50", r.Latency.P50}, {"p95", r.Latency.P95}, {"p99", r.Latency.P99}} {
			cards = append(cards, card{
				metric: api + "." + q.name, Title: "Latency " + q.name, Value: withUnit(q.value, milliseconds),
				Note: "of increments",
			})
		}
	}
	for _, f := range []struct{ where, name, note string }{
		{"client", client, "from commit to clients"}, {"redis", redis, "from commit to Redis"},
	} {
		if l := r.Freshness[f.where]; l.N > 0 {
			cards = append(cards, card{
				metric: f.name + ".p95", Title: "Freshness p95", Value: withUnit(l.P95, milliseconds), Note: f.note,
			})
			break
		}
	}
	if c := r.Comparison; c != nil && c.Verdict != Incomparable {
		for i := range cards {
			for _, m := range c.Metrics {
				if m.Name == cards[i].metric {
					cards[i].Change, cards[i].Result = m.change, m.Result
				}
			}
		}
	}
	return cards
}

// criteriaMet says how many criteria were met.
func (r *Report) criteriaMet() string {
	met := 0
	for _, c := range r.Criteria {
		if c.Pass {
			met++
		}
	}
	return fmt.Sprintf("%d of %d criteria met", met, len(r.Criteria)+len(r.LeftOut))
}
