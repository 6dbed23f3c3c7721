package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

func loadRunHref(id int64) string { return Root + "/load-runs/" + strconv.FormatInt(id, 10) }

func milliseconds(v float64) cell {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	return cell{Text: s + " ms", Raw: s, Kind: "number"}
}

var loadRunList = &list[wire.LoadRun]{
	name: "load-runs", path: Root + "/load-runs", cursor: "before",
	empty:   "No load run. Upload a report.json here, or with sbctl load report RECORD --upload.",
	filters: []filter{{Name: "verdict", Label: "Verdict", Options: []string{"", "passed", "failed", "scaled"}}},
	columns: []column[wire.LoadRun]{
		{"load_run_id", "Run", func(r wire.LoadRun) cell {
			return cell{Text: strconv.FormatInt(r.LoadRunID, 10), Href: loadRunHref(r.LoadRunID), Kind: "number"}
		}},
		{"verdict", "Verdict", func(r wire.LoadRun) cell { return badge(r.Verdict) }},
		{"profile", "Criteria", func(r wire.LoadRun) cell { return text(r.Profile) }},
		{"version", "Version", func(r wire.LoadRun) cell { return text(r.Version) }},
		{"rate", "Increments/s", func(r wire.LoadRun) cell { return number(int64(r.Rate)) }},
		{"p95_ms", "p95", func(r wire.LoadRun) cell { return milliseconds(r.P95MS) }},
		{"p99_ms", "p99", func(r wire.LoadRun) cell { return milliseconds(r.P99MS) }},
		{"began_at", "Began", func(r wire.LoadRun) cell { return moment(r.BeganAt) }},
		{"seconds", "Duration", func(r wire.LoadRun) cell { return text(formatSeconds(int64(r.Seconds))) }},
		{"uploaded_at", "Uploaded", func(r wire.LoadRun) cell { return moment(r.UploadedAt) }},
	},
	fetch: func(k *call, q url.Values) ([]wire.LoadRun, string, error) {
		var out wire.LoadRuns
		err := k.get("/v1/admin/load-runs", q, &out)
		return out.LoadRuns, cursorOf(out.NextBefore), err
	},
}

// loadRuns lists the load runs.
func (c *Console) loadRuns(w http.ResponseWriter, r *http.Request, s *session) error {
	return table(c, w, r, s, loadRunList, "list", &view{
		Title: "Load runs", Section: "load-runs", Actions: offer(s, changeLink("load-run-upload", "Upload a report")),
	})
}

// loadRunView is the page of a load run, and its comparison with another.
type loadRunView struct {
	ID, Against                   string
	Facts                         []fact
	Verdicts, Latencies, Compared *tableView
	Summary, Tone                 string // of the comparison
	Notes                         []string
	Errors                        []fact
}

// readLoadRun reads a load run with its report.
func readLoadRun(k *call, id string) (run wire.LoadRun, r *report.Report, err error) {
	if err = k.get("/v1/admin/load-runs/"+url.PathEscape(id), nil, &run); err == nil {
		r, err = report.Decode(run.Report)
	}
	return run, r, err
}

// loadRun shows the report of a load run, and with against how it compares with another.
func (c *Console) loadRun(w http.ResponseWriter, r *http.Request, s *session) error {
	k, id := c.as(r, s), r.PathValue("id")
	run, shown, err := readLoadRun(k, id)
	if err != nil {
		return err
	}
	d := &loadRunView{ID: id, Against: r.URL.Query().Get("against"), Notes: shown.Notes}
	if d.Against != "" {
		_, other, err := readLoadRun(k, d.Against)
		if err != nil {
			return err
		}
		shown.Against(other, nil)
		d.Summary, d.Tone = shown.Comparison.Summary(), "good"
		if shown.Comparison.Failed() {
			d.Tone = "bad"
		}
		d.Compared = &tableView{Head: heads("Metric", "This run", "Run "+d.Against, "Change", "Threshold", "Result")}
		for _, row := range shown.Comparison.Rows() {
			d.Compared.Rows = append(d.Compared.Rows, []cell{
				text(row.Name), text(row.This), text(row.Other), text(row.Change), text(row.Threshold),
				result(row.Result),
			})
		}
	}
	d.Facts = []fact{{"Verdict", badge(run.Verdict)}, {"Began", moment(run.BeganAt)}}
	for _, f := range shown.Facts() {
		if f[0] != "Verdict" {
			d.Facts = append(d.Facts, fact{f[0], text(f[1])})
		}
	}
	d.Facts = append(d.Facts,
		fact{"Version", text(run.Version)},
		fact{"Parameters", text(report.ParametersText(shown.Parameters))},
		fact{"Uploaded", moment(run.UploadedAt)})
	d.Verdicts = &tableView{Head: heads("Result", "Criterion", "Measured", "Limit", "Source"), Empty: "No criteria."}
	for _, v := range shown.Verdicts() {
		d.Verdicts.Rows = append(d.Verdicts.Rows,
			[]cell{{Text: v[0], Kind: "badge", Tone: tones[v[0]]}, text(v[1]), text(v[2]), text(v[3]), text(v[4])})
	}
	d.Latencies = &tableView{
		Head: heads("In milliseconds", "p50", "p95", "p99", "p99.9", "Max"), Empty: "Nothing was measured.",
	}
	for i := range d.Latencies.Head[1:] {
		d.Latencies.Head[1+i].Kind = "number"
	}
	titles, all := shown.Distributions()
	for i, l := range all {
		row := []cell{text(titles[i])}
		for _, v := range []float64{l.P50, l.P95, l.P99, l.P999, l.Max} {
			row = append(row, cell{Text: strconv.FormatFloat(v, 'f', 1, 64), Kind: "number"})
		}
		d.Latencies.Rows = append(d.Latencies.Rows, row)
	}
	for _, e := range shown.Errors {
		d.Errors = append(d.Errors, fact{e.What, text(formatNumber(e.N))})
	}
	return c.show(w, r, s, "load-run", &view{
		Title: "Load run #" + id, Section: "load-runs", Data: d,
		Crumbs:  []link{{Label: "Load runs", Href: Root + "/load-runs"}},
		Actions: offer(s, changeLink("load-run-delete", "Delete", "id", id)),
	})
}

func heads(labels ...string) (out []headView) {
	for _, label := range labels {
		out = append(out, headView{Label: label})
	}
	return out
}

// result shows the result of a metric; "" for one that was not judged.
func result(s string) cell {
	if s == "" {
		return text("–")
	}
	return badge(s)
}

// loadRunChanges upload and delete load runs.
func loadRunChanges() []*change {
	return []*change{loadRunUpload(), {
		name: "load-run-delete", title: "Delete load run", verb: "Delete load run", section: "load-runs", danger: true,
		admin: true, action: "load_run.delete", intro: "Deletes the report. This cannot be undone.",
		done: "The load run is deleted.", fields: []field{{Name: "id", Label: "Load run", Kind: "hidden"}},
		effect: func(v url.Values) string {
			return "The report of load run #" + v.Get("id") + " is deleted. It can be uploaded again from its record."
		},
		command: func(v url.Values) []string { return []string{"load", "delete", v.Get("id")} },
		request: func(v url.Values) (request, error) {
			path := "/v1/admin/load-runs/" + url.PathEscape(v.Get("id"))
			return request{http.MethodDelete, path, reasonQuery(v), nil}, nil
		},
		back: func(url.Values) string { return Root + "/load-runs" },
	}}
}

// readReport reads an uploaded report. The report is kept as sbctl sends it, without spaces.
func readReport(v url.Values) (*report.Report, json.RawMessage, error) {
	var short bytes.Buffer
	err := json.Compact(&short, []byte(v.Get("report")))
	var r *report.Report
	if err == nil {
		r, err = report.Decode(short.Bytes())
	}
	if err != nil {
		return nil, nil, &failure{
			Status: http.StatusUnprocessableEntity, Code: "invalid_request", Field: "report",
			Message: "The file is not a report: " + err.Error() + ".",
			Next:    "Choose the report.json that sbctl load run has written.",
		}
	}
	return r, short.Bytes(), nil
}

// loadRunUpload stores a report.
func loadRunUpload() *change {
	return &change{
		name: "load-run-upload", title: "Upload a report", verb: "Upload", section: "load-runs",
		action: "load_run.upload", intro: "Stores the report of a load test for viewing and comparison.",
		done: "The report is stored.",
		fields: []field{{
			Name: "report", Label: "Report", Kind: "file", Required: true,
			Hint: "The report.json of sbctl load run, load report or accept, up to 1 MiB.",
		}},
		effect: func(url.Values) string {
			return "The report is stored. The server keeps the newest 200 reports and deletes older ones."
		},
		dryRun: func(_ *call, v url.Values) ([]fact, error) {
			r, _, err := readReport(v)
			if err != nil {
				return nil, err
			}
			return []fact{
				{"Verdict", badge(r.Verdict)},
				{"Criteria", text(r.Profile)},
				{"Began", moment(r.Began)},
				{"Increments/s", number(int64(r.Rate))},
				{"p95", milliseconds(r.Latency.P95)},
				{"p99", milliseconds(r.Latency.P99)},
			}, nil
		},
		command: func(url.Values) []string { return []string{"load", "report", "RECORD", "--upload"} },
		request: func(v url.Values) (request, error) {
			_, body, err := readReport(v)
			return request{
				http.MethodPost, "/v1/admin/load-runs", reasonQuery(v), wire.LoadRunRequest{Report: body},
			}, err
		},
		back: func(url.Values) string { return Root + "/load-runs" },
		after: func(_ url.Values, answer json.RawMessage) string {
			var made wire.LoadRun
			_ = json.Unmarshal(answer, &made) // an id of 0 leads to a clear error
			return loadRunHref(made.LoadRunID)
		},
	}
}
