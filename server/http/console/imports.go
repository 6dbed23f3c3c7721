package console

import (
	"context"
	"encoding/json"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/sources"
)

const (
	maxRuns        = 20  // imports whose progress this process keeps, running ones included
	maxRunningRuns = 2   // at once, one of them of one person or on one board
	maxRejected    = 100 // that are shown
)

// importRuns are the uploaded files that this process writes or has written. The API stores
// how many users and events each import has, for all nodes.
type importRuns struct {
	turns *share.Pool

	mu   sync.Mutex
	kept []*importRun // newest first
}

// importRun is one uploaded file.
type importRun struct {
	id     int64 // of the import
	users  int64 // of the file
	digest string

	mu                 sync.Mutex
	done               int // records
	written, unchanged int
	rejected           []wire.RejectedRecord
	rejections         int
	ended              bool
	problem            *failure
	summary            *wire.ImportSummary
}

// start keeps a run until it ends and longer, or returns a failure if too many run; the caller
// calls ended when it has.
func (i *importRuns) start(ctx context.Context, board string, run *importRun) (ended func(), err error) {
	ended, ok := i.turns.Try(ctx, share.Claim{Board: board})
	if !ok {
		return nil, &failure{
			Status: http.StatusConflict, Code: "conflict",
			Message: "Two imports are already running on this node, or one of yours or to this board.",
			Next:    "Wait until one has ended. Nothing was written.",
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.kept = append([]*importRun{run}, i.kept[:min(len(i.kept), maxRuns-1)]...)
	return ended, nil
}

// find returns the newest run of an import, nil for none.
func (i *importRuns) find(id int64) *importRun {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, run := range i.kept {
		if run.id == id {
			return run
		}
	}
	return nil
}

// write sends the records, and reads what the board has of them.
func (o *importRun) write(k *call, q url.Values, records []scoreboard.ImportRecord) {
	path := "/v1/admin/imports/" + strconv.FormatInt(o.id, 10)
	var err error
	for chunk := range slices.Chunk(records, scoreboard.MaxImportRecords) {
		body := wire.ImportRecords{Records: make([]wire.ImportRecord, len(chunk))}
		for i, r := range chunk {
			body.Records[i] = wire.ImportRecord{UserID: string(r.User), Score: int64(r.Score)}
			body.Records[i].Subscore = (*int64)(r.Subscore)
		}
		var out wire.ImportedRecords
		if err = k.do(http.MethodPost, path+"/records", q, body, &out); err != nil {
			break
		}
		o.add(len(chunk), &out)
	}
	var summary wire.ImportSummary
	if err == nil {
		err = k.get(path+"/summary", nil, &summary)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	if err != nil {
		o.problem = failureOf(err)
		o.problem.Next += " Import the same file again to continue: nothing is counted twice."
		return
	}
	o.summary = &summary
}

func (o *importRun) add(n int, out *wire.ImportedRecords) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.done += n
	o.written += out.Written
	o.unchanged += out.Unchanged
	o.rejections += len(out.Rejected)
	o.rejected = append(o.rejected, out.Rejected[:min(len(out.Rejected), maxRejected-len(o.rejected))]...)
}

func importHref(id int64) string { return Root + "/imports/" + strconv.FormatInt(id, 10) }

var importList = &list[wire.Import]{
	name: "imports", path: Root + "/imports", cursor: "before",
	empty: "No imports. Upload a CSV file, or use sbctl import for Nakama and Podium.",
	columns: []column[wire.Import]{
		{"import_id", "Import", func(i wire.Import) cell { return reference(importHref(i.ImportID), i.ImportID) }},
		{"source", "Source", func(i wire.Import) cell { return text(i.Source) }},
		{"board", "Board", func(i wire.Import) cell { return to(boardHref(i.Board), i.Board) }},
		{"users", "Users", func(i wire.Import) cell { return number(i.Users) }},
		{"events", "Events", func(i wire.Import) cell { return number(i.Events) }},
		{"started_at", "Started", func(i wire.Import) cell { return timeOrNone(i.StartedAt) }},
		{"last_at", "Last event", func(i wire.Import) cell { return timeOrNone(i.LastAt) }},
	},
	fetch: func(k *call, q url.Values) ([]wire.Import, string, error) {
		var out wire.Imports
		err := k.get("/v1/admin/imports", q, &out)
		return out.Imports, cursorOf(out.NextBefore), err
	},
}

// importsPage lists the imports.
func (c *views) importsPage(w http.ResponseWriter, r *http.Request, s *session) error {
	return table(c, w, r, s, importList, "list", &view{
		Title: "Imports", Section: "imports", Actions: offer(s, changeLink("import", "Import a CSV file")),
	})
}

// importView is the page of an import.
type importView struct {
	Active      bool
	Done, Total int64
	Facts, Run  []fact
	Problem     *failure
	Result      string
	Same        bool
	Rejected    *tableView
	More        int // rejected records that are not shown
}

// quiet is how long after its last event an import counts as running on another node.
const quiet = 5 * time.Second

// importPage shows an import, and the progress of its file if this node writes it.
func (c *views) importPage(w http.ResponseWriter, r *http.Request, s *session) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id < 1 || id == 1<<63-1 {
		return &failure{Status: http.StatusNotFound, Code: "not_found", Message: "There is no such import."}
	}
	k := c.caller.as(r, s)
	rows, _, err := importList.fetch(k, url.Values{"before": {strconv.FormatInt(id+1, 10)}, "limit": {"1"}})
	if err != nil {
		return err
	}
	if len(rows) == 0 || rows[0].ImportID != id {
		return &failure{
			Status: http.StatusNotFound, Code: "not_found", Message: "There is no such import.",
			Next: "Choose one from the list of imports.",
		}
	}
	i := &rows[0]
	d := &importView{Facts: []fact{
		{"Source", text(i.Source)},
		{"Board", to(boardHref(i.Board), i.Board)},
		{"Users", number(i.Users)},
		{"Events", number(i.Events)},
		{"Started", timeOrNone(i.StartedAt)},
		{"Last event", timeOrNone(i.LastAt)},
	}}
	if run := c.imports.find(id); run != nil {
		run.show(d)
	} else {
		d.Active = i.LastAt != nil && c.now().Sub(*i.LastAt) < quiet
	}
	return c.screen.show(w, r, s, "import", &view{
		Title: "Import from " + i.Source, Section: "imports", Data: d,
		Crumbs:  []link{{Label: "Imports", Href: Root + "/imports"}},
		Actions: offer(s, changeLink("import", "Import a file again", "board", i.Board, "source", i.Source)),
	})
}

// show adds the progress or the result of a run.
func (o *importRun) show(d *importView) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d.Active, d.Done, d.Total, d.Problem = !o.ended, int64(o.done), o.users, o.problem
	d.Run = []fact{
		{"Records in the file", number(o.users)},
		{"Written", number(int64(o.written))},
		{"Imported before", number(int64(o.unchanged))},
		{"Rejected", number(int64(o.rejections))},
	}
	if o.rejections > 0 {
		d.Rejected = &tableView{Head: []headView{{Label: "User"}, {Label: "Reason"}}}
		for _, r := range o.rejected {
			d.Rejected.Rows = append(d.Rejected.Rows, []cell{to(playerHref(r.UserID), r.UserID), text(r.Error.Message)})
		}
		d.More = o.rejections - len(o.rejected)
	}
	if o.summary == nil {
		return
	}
	d.Same = o.summary.Users == o.users && o.summary.Digest == o.digest
	d.Result = "The board matches the file."
	if !d.Same {
		d.Result = "The board differs from the file: it has " + formatNumber(o.summary.Users) +
			" imported users with " + formatNumber(o.summary.Sum) + " points in total. Scores that were submitted " +
			"meanwhile, an earlier file of this source and rejected records are reasons. Compare with sbctl import csv."
	}
}

// fileSummary summarises records as the API summarises a board.
func fileSummary(records []scoreboard.ImportRecord) (users int64, sum, digest string) {
	total, d := new(big.Int), uint64(0)
	for _, r := range records {
		total.Add(total, big.NewInt(int64(r.Score)))
		d += scoreboard.ImportDigest(r.User, r.Pair())
	}
	return int64(len(records)), total.String(), strconv.FormatUint(d, 10)
}

// readCSV reads an uploaded file.
func readCSV(v url.Values) ([]scoreboard.ImportRecord, error) {
	records, err := sources.CSV(strings.NewReader(v.Get("file") + "\n"))
	if err == nil && len(records) == 0 {
		return nil, &failure{
			Status: http.StatusUnprocessableEntity, Code: "invalid_request", Field: "file",
			Message: "The file has no records.", Next: "Choose a file with a line for each user.",
		}
	}
	if err != nil {
		message := err.Error()
		return nil, &failure{
			Status: http.StatusUnprocessableEntity, Code: "invalid_request", Field: "file",
			Message: strings.ToUpper(message[:1]) + message[1:] + ".",
			Next:    "Correct the file and choose it again. Nothing was written.",
		}
	}
	return records, nil
}

// importChanges import files.
func importChanges() []*change {
	return []*change{{
		name: "import", title: "Import a CSV file", verb: "Import", section: "imports",
		action: "import.start",
		intro: "Writes the scores of another system, as events of the ledger. Equal scores rank in the order of the " +
			"lines.",
		done: "The import has started.",
		fields: []field{
			{Name: "board", Label: "Board", Kind: "text", Required: true, Value: "global"},
			{
				Name: "source", Label: "Source", Kind: "text", Required: true, Value: "csv",
				Hint: "Name of the other system. A second file from the same source writes only the changes.",
			},
			{
				Name: "file", Label: "File", Kind: "file", Required: true,
				Hint: "CSV with the header user_id,score and a line for each user, up to 4 MiB.",
			},
		},
		effect: func(url.Values) string {
			return "Each user's score in the file is written as the difference from what this source wrote before: " +
				"the import can be repeated, and nothing is counted twice. At the end, the board is " +
				"compared with the file."
		},
		dryRun: func(k *call, v url.Values) ([]fact, error) {
			records, err := readCSV(v)
			if err != nil {
				return nil, err
			}
			var before wire.Import
			body := wire.ImportRequest{Source: v.Get("source"), Board: v.Get("board"), DryRun: true}
			if err := k.operate("import.start", request{body: body}, &before); err != nil {
				return nil, err
			}
			users, sum, _ := fileSummary(records)
			return []fact{
				{"Writes to the board", text(before.Board)},
				{"Users in the file", number(users)},
				{"Sum of their scores", text(formatNumber(sum))},
				{"Users imported before", number(before.Users)},
			}, nil
		},
		command: func(v url.Values) []string {
			return []string{"import", "csv", v.Get("file_name"), "--board", v.Get("board"), "--source", v.Get("source")}
		},
		request: func(v url.Values) (request, error) {
			body := wire.ImportRequest{Source: v.Get("source"), Board: v.Get("board")}
			_, err := readCSV(v)
			return request{query: reasonQuery(v), body: body}, err
		},
		back: func(url.Values) string { return Root + "/imports" },
		then: func(c *changeForms, k *call, v url.Values, answer json.RawMessage) (string, error) {
			var made wire.Import
			if err := json.Unmarshal(answer, &made); err != nil {
				return "", err
			}
			records, err := readCSV(v)
			if err != nil {
				return "", err
			}
			run := &importRun{id: made.ImportID}
			run.users, _, run.digest = fileSummary(records)
			ended, err := c.imports.start(k.ctx, v.Get("board"), run)
			if err != nil {
				return "", err
			}
			if err := c.background.do(k, func(k *call) {
				defer ended()
				run.write(k, reasonQuery(v), records)
			}); err != nil {
				ended()
				return "", err
			}
			return importHref(made.ImportID), nil
		},
	}}
}
