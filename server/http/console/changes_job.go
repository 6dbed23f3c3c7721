package console

import (
	"net/url"

	"github.com/scoreboard/scoreboard/client/wire"
)

// jobChanges start jobs.
func jobChanges() []*change {
	scope := func(v url.Values) wire.JobRequest {
		b := v.Get("board")
		return wire.JobRequest{Board: b, All: b == "", UserID: v.Get("user")}
	}
	flags := func(v url.Values) []string {
		words := []string{"--all"}
		if b := v.Get("board"); b != "" {
			words = []string{"--board", b}
		}
		if u := v.Get("user"); u != "" {
			words = append(words, "--user", u)
		}
		return words
	}
	boardField := field{Name: "board", Label: "Board", Kind: "text", Hint: "All boards if empty."}
	userField := field{Name: "user", Label: "User", Kind: "text", Hint: "All users if empty."}
	back := func(url.Values) string { return Root + "/jobs" }
	return []*change{
		{
			name:    "rebuild",
			title:   "Rebuild ranking",
			verb:    "Start rebuild",
			section: "jobs",
			action:  "ranking.rebuild",
			intro:   "Rebuilds a ranking from PostgreSQL while it stays online.",
			done:    "The rebuild has started.",
			job:     true,
			fields:  []field{boardField},
			effect: func(v url.Values) string {
				return "The ranking is built beside the current one, which keeps serving, and then replaces it. " +
					"Scores do not change."
			},
			dryRun: func(k *call, v url.Values) ([]fact, error) {
				if v.Get("board") == "" {
					return []fact{{"Boards", text("all that have a ranking")}}, nil
				}
				var st wire.RankingStatus
				if err := k.get("/v1/admin/boards/"+url.PathEscape(v.Get("board"))+"/ranking", nil, &st); err != nil {
					return nil, err
				}
				return rankingFacts(&st), nil
			},
			command: func(v url.Values) []string { return append([]string{"rebuild"}, flags(v)...) },
			request: func(v url.Values) (request, error) {
				return request{query: reasonQuery(v), body: scope(v)}, nil
			},
			back: back,
		},
		{
			name:    "verify",
			title:   "Verify ledger, scores and ranking",
			verb:    "Start verification",
			section: "jobs",
			route:   "POST /v1/admin/verify",
			intro:   "Compares ledger, scores and ranking. Changes nothing.",
			done:    "The verification has started.",
			job:     true,
			fields:  []field{boardField, userField},
			effect: func(url.Values) string {
				return "Every event of the ledger is read and compared with scores and ranking. Nothing is changed, " +
					"and so nothing is written to the audit trail."
			},
			command: func(v url.Values) []string { return append([]string{"verify"}, flags(v)...) },
			request: func(v url.Values) (request, error) {
				return request{body: scope(v)}, nil
			},
			back: back,
		},
		{
			name: "reconcile", title: "Repair rankings", verb: "Start repair", section: "jobs",
			action: "ranking.reconcile", intro: "Compares scores with the ranking and replaces wrong ranking entries.",
			done: "The repair has started.", job: true, fields: []field{boardField, userField},
			effect: func(url.Values) string {
				return "Entries of the ranking that differ from PostgreSQL are replaced. Scores do not change. Start " +
					"a verification first to see what differs."
			},
			command: func(v url.Values) []string { return append([]string{"reconcile", "--repair"}, flags(v)...) },
			request: func(v url.Values) (request, error) {
				body := scope(v)
				body.Repair = true
				return request{query: reasonQuery(v), body: body}, nil
			},
			back: back,
		},
		{
			name: "job-stop", title: "Stop job", verb: "Stop the job", section: "jobs", danger: true,
			action: "job.stop", intro: "Tells the node that runs the job to stop it.",
			done:   "The job is being stopped.",
			fields: []field{{Name: "id", Label: "Job", Kind: "hidden"}},
			effect: func(v url.Values) string {
				return "Job #" + v.Get("id") + " stops within two seconds. The data stays consistent, " +
					"and the job can be " +
					"started again."
			},
			dryRun: func(k *call, v url.Values) ([]fact, error) {
				var j wire.Job
				err := k.get("/v1/admin/jobs/"+url.PathEscape(v.Get("id")), nil, &j)
				return newJobView(&j, k.now()).Facts, err
			},
			command: func(v url.Values) []string { return []string{"job", "stop", v.Get("id")} },
			request: func(v url.Values) (request, error) {
				return request{ids: []string{v.Get("id")}, query: reasonQuery(v)}, nil
			},
			back: func(v url.Values) string { return Root + "/jobs/" + url.PathEscape(v.Get("id")) },
		},
		replayChange(),
	}
}
