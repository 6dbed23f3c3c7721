package console

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/internal/english"
)

// cell is a value of a table, as it is shown.
type cell struct {
	Text string
	Raw  string // for export and sorting; Text if empty
	Href string
	Kind string // number, ref, time, badge, code, id or ""
	Tone string // of a badge: good, warn, bad, busy or ""
}

func (v cell) raw() string { return cmp.Or(v.Raw, v.Text) }

func text(s string) cell { return cell{Text: s} }
func code(s string) cell { return cell{Text: s, Kind: "code"} }
func to(href, s string) cell {
	return cell{Text: s, Href: href}
}

// maxID is the longest id, in characters, that is shown whole.
const maxID = 18

// idOf shows an id, shortened if it is long, with a button that copies all of it.
func idOf(href, s string) cell {
	v := cell{Text: s, Raw: s, Href: href, Kind: "id"}
	if runes := []rune(s); len(runes) > maxID {
		v.Text = string(runes[:maxID-6]) + "…" + string(runes[len(runes)-5:])
	}
	return v
}

func number(n int64) cell {
	return cell{Text: formatNumber(n), Raw: strconv.FormatInt(n, 10), Kind: "number"}
}

// numberOrNone shows a number that most rows do not have.
func numberOrNone(n *int64) cell {
	if n == nil {
		return cell{}
	}
	return number(*n)
}

// reference shows the number by which a row is called: without separators, and sorted by its value.
func reference(href string, n int64) cell {
	return cell{Text: strconv.FormatInt(n, 10), Href: href, Kind: "ref"}
}

// sortsByValue reports whether a column with this cell is sorted as numbers.
func (v cell) sortsByValue() bool { return v.Kind == "number" || v.Kind == "ref" }

func timeOf(t time.Time) cell {
	return cell{Text: formatTime(t), Raw: t.UTC().Format(time.RFC3339Nano), Kind: "time"}
}

func timeOrNone(t *time.Time) cell {
	if t == nil {
		return cell{Text: "–", Raw: " "}
	}
	return timeOf(*t)
}

func badge(s string) cell { return cell{Text: s, Kind: "badge", Tone: tones[s]} }

// tones are the colours of words.
var tones = map[string]string{
	"ok": "good", "active": "good", "HEALTHY": "good", "done": "good", "confirmed": "bad", "dismissed": "",
	"warn": "warn", "frozen": "warn", "open": "warn", "CATCHING_UP": "warn", "undoing": "busy", "reversing": "busy",
	"listing": "busy", "running": "busy", "fail": "bad", "banned": "bad", "DEGRADED_REBUILDING": "bad",
	"NOT_LOADED": "bad",
	"failed":     "bad", "revoked": "bad", "expired": "bad", "erased": "bad", "skipped": "", "archived": "",
	"stopped": "", "lost": "bad", "enabled": "good", "disabled": "bad", "delivered": "good", "pending": "busy",
	"claimable": "warn", "claimed": "good",
	"valid": "good", "changed": "warn", "enforce": "bad",
}

// column is a column of a table of T.
type column[T any] struct {
	Name, Label string
	value       func(T) cell
}

// filter is an input that narrows a table down.
type filter struct {
	Name, Label string
	Options     []string // of a choice; the first is the default, shown for ""
	Hint        string
	Value       string
}

// list is a table of rows that the API returns by pages.
type list[T any] struct {
	name    string // of a downloaded file
	path    string
	about   string // what the rows are, and what to do with them; "" where the title says it
	empty   string // what is shown instead of rows, unless a filter hides them
	noMatch string // what is shown if a filter hides them; "": a text for all lists
	filters []filter
	columns []column[T]
	rare    string // the name of a column that is shown only where a row has something in it
	cursor  string // the query parameter of the next page
	// fetch returns a page and the cursor of the next one, "" for none.
	fetch func(k *call, q url.Values) (rows []T, next string, err error)
}

// tableView is a table, as it is shown.
type tableView struct {
	Path, About string
	Empty       string
	Filters     []filter
	Head        []headView
	Rows        [][]cell
	Next        string // address of the next page
	First       string // address of the first page, if this is not it
	CSV, NDJSON string
	Filtered    bool
}

// Count says how many rows a table shows, and whether there are more.
func (t *tableView) Count() string {
	count := english.Count(len(t.Rows), "row")
	switch {
	case t.Next != "":
		return count + ", more follow"
	case t.First != "":
		return count + " on the last page"
	}
	return count
}

type headView struct {
	Label, Kind, Sorted, Href string
}

// parameters returns the query of the API for a request: its filters and cursor.
func (l *list[T]) parameters(r *http.Request) url.Values {
	q, asked := url.Values{}, r.URL.Query()
	for _, f := range l.filters {
		if v := strings.TrimSpace(asked.Get(f.Name)); v != "" {
			q.Set(f.Name, v)
		}
	}
	if v := asked.Get(l.cursor); v != "" {
		q.Set(l.cursor, v)
	}
	return q
}

// view fetches the page of a request, sorted as it asks.
func (l *list[T]) view(k *call, r *http.Request) (*tableView, error) {
	q := l.parameters(r)
	rows, next, err := l.fetch(k, q)
	if err != nil {
		return nil, err
	}
	sorted, descending := r.URL.Query().Get("sort"), r.URL.Query().Get("order") == "desc"
	address := func(set map[string]string) string {
		v := url.Values{}
		for name, values := range q {
			v[name] = values
		}
		if sorted != "" {
			v.Set("sort", sorted)
			if descending {
				v.Set("order", "desc")
			}
		}
		for name, value := range set {
			v.Del(name)
			if value != "" {
				v.Set(name, value)
			}
		}
		if len(v) == 0 {
			return l.path
		}
		return l.path + "?" + v.Encode()
	}
	t := &tableView{Path: l.path, About: l.about, Empty: l.empty}
	for _, f := range l.filters {
		f.Value = q.Get(f.Name)
		t.Filtered = t.Filtered || f.Value != ""
		t.Filters = append(t.Filters, f)
	}
	if t.Filtered {
		t.Empty = cmp.Or(l.noMatch, "Nothing matches the filter.")
	}
	columns := l.shown(rows)
	for _, row := range rows {
		cells := make([]cell, len(columns))
		for i, c := range columns {
			cells[i] = c.value(row)
		}
		t.Rows = append(t.Rows, cells)
	}
	for i, c := range columns {
		h := headView{Label: c.Label, Href: address(map[string]string{"sort": c.Name, "order": ""})}
		if len(t.Rows) > 0 {
			h.Kind = t.Rows[0][i].Kind
		}
		if c.Name == sorted {
			h.Sorted, h.Href = "ascending", address(map[string]string{"order": "desc"})
			if descending {
				h.Sorted, h.Href = "descending", address(map[string]string{"sort": "", "order": ""})
			}
			sortRows(t.Rows, i, descending)
		}
		t.Head = append(t.Head, h)
	}
	if next != "" {
		t.Next = address(map[string]string{l.cursor: next})
	}
	if q.Get(l.cursor) != "" {
		t.First = address(map[string]string{l.cursor: ""})
	}
	if len(rows) > 0 {
		t.CSV = address(map[string]string{"export": "csv", l.cursor: "", "sort": "", "order": ""})
		t.NDJSON = address(map[string]string{"export": "ndjson", l.cursor: "", "sort": "", "order": ""})
	}
	return t, nil
}

// shown returns the columns of a page with rows.
func (l *list[T]) shown(rows []T) []column[T] {
	i := slices.IndexFunc(l.columns, func(c column[T]) bool { return c.Name == l.rare })
	if i < 0 || slices.ContainsFunc(rows, func(row T) bool { return l.columns[i].value(row).Text != "" }) {
		return l.columns
	}
	return slices.Delete(slices.Clone(l.columns), i, i+1)
}

// plain returns a table of rows without filters, sorting and further pages.
func (l *list[T]) plain(rows []T) *tableView {
	t := &tableView{About: l.about, Empty: l.empty}
	for _, c := range l.columns {
		t.Head = append(t.Head, headView{Label: c.Label})
	}
	for _, row := range rows {
		cells := make([]cell, len(l.columns))
		for i, c := range l.columns {
			cells[i] = c.value(row)
			t.Head[i].Kind = cells[i].Kind
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// sortRows sorts by a column: numbers by value, everything else by its text.
func sortRows(rows [][]cell, column int, descending bool) {
	slices.SortStableFunc(rows, func(a, b []cell) int {
		x, y := a[column], b[column]
		order := 0
		if x.sortsByValue() && y.sortsByValue() {
			n, _ := strconv.ParseFloat(x.raw(), 64)
			m, _ := strconv.ParseFloat(y.raw(), 64)
			order = cmp.Compare(n, m)
		} else {
			order = cmp.Compare(strings.ToLower(x.raw()), strings.ToLower(y.raw()))
		}
		if descending {
			return -order
		}
		return order
	})
}

// maxExport bounds the pages of one export.
const maxExport = 500

// export writes all rows of a request's filter as a file, if it asks for one. A failure
// after the first page breaks the connection, so that no one takes a part for the whole.
func (l *list[T]) export(k *call, w http.ResponseWriter, r *http.Request) (done bool, err error) {
	format := r.URL.Query().Get("export")
	if format != "csv" && format != "ndjson" {
		return false, nil
	}
	q := l.parameters(r)
	q.Del(l.cursor)
	rows, next, err := l.fetch(k, q)
	if err != nil {
		return true, err
	}
	kind := map[string]string{"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}[format]
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", `attachment; filename="`+l.name+"."+format+`"`)
	control := http.NewResponseController(w)
	records, lines := csv.NewWriter(w), json.NewEncoder(w)
	if format == "csv" {
		header := make([]string, len(l.columns))
		for i, c := range l.columns {
			header[i] = c.Name
		}
		_ = records.Write(header) // errors are those of w
	}
	for page := 1; ; page++ {
		_ = control.SetWriteDeadline(time.Now().Add(callTime))
		for _, row := range rows {
			if format == "ndjson" {
				_ = lines.Encode(row)
				continue
			}
			record := make([]string, len(l.columns))
			for i, c := range l.columns {
				record[i] = plainCell(strings.TrimSpace(c.value(row).raw()))
			}
			_ = records.Write(record)
		}
		records.Flush()
		if next == "" {
			return true, nil
		}
		q.Set(l.cursor, next)
		if page == maxExport {
			panic(http.ErrAbortHandler)
		}
		if rows, next, err = l.fetch(k, q); err != nil {
			k.log.Warn("export broken off", "path", r.URL.Path, "page", page,
				"request_id", r.Header.Get("X-Request-Id"), "err", err)
			panic(http.ErrAbortHandler)
		}
	}
}

// plainCell keeps spreadsheets from reading a text as a formula. Numbers stay as they are.
func plainCell(s string) string {
	if s == "" || !strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return s
	}
	if _, err := strconv.ParseInt(s, 10, 64); err == nil {
		return s
	}
	return "'" + s
}

// tableOrExport answers a request for an export, or returns the table.
func tableOrExport[T any](l *list[T], k *call, w http.ResponseWriter, r *http.Request) (*tableView, bool, error) {
	if done, err := l.export(k, w, r); done {
		return nil, true, err
	}
	t, err := l.view(k, r)
	return t, false, err
}

// table shows a page with one table.
func table[T any](
	c *views, w http.ResponseWriter, r *http.Request, s *session, l *list[T], page string, v *view,
) error {
	t, done, err := tableOrExport(l, c.caller.as(r, s), w, r)
	if done || err != nil {
		return err
	}
	v.Data = t
	return c.screen.show(w, r, s, page, v)
}

// fact is a named value of a page.
type fact struct {
	Label string
	Value cell
}
