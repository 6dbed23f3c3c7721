package store_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/internal/test/storetest"
)

// notOfPlayers are the tables of which no player creates rows, and why.
var notOfPlayers = map[string]string{
	"user_statuses":     "of operators: bans and freezes",
	"import_scores":     "of operators",
	"imports":           "of operators",
	"reversals":         "of operators: corrections of events",
	"voids":             "of operators",
	"void_events":       "of a void, until it is done",
	"audit_log":         "of operators' changes",
	"audit_seals":       "of the audit trail, one for each span of entries",
	"audit_head":        "of the audit trail, one row",
	"audit_unsealed":    "of the audit trail, until it is sealed",
	"jobs":              "of operators",
	"job_runs":          "one row for each kind of job",
	"boards":            "of operators, and one for each period",
	"board_rules":       "of operators",
	"keys":              "of operators",
	"key_secrets":       "of operators",
	"webhooks":          "of operators",
	"webhook_secrets":   "of operators",
	"teams":             "of servers",
	"team_changes":      "of servers' changes, until they are applied",
	"team_state":        "one row",
	"settings":          "of operators",
	"retention":         "one row for each kind of data",
	"leases":            "one row for each kind of job",
	"relay_shards":      "one row for each shard of the outbox",
	"relay_members":     "one row for each process that relays",
	"carriers":          "one row for each process",
	"node_reports":      "one row for each node",
	"tier_state":        "one row",
	"standings_state":   "one row",
	"standings_cursors": "one row for each shard",
	"history_mark":      "one row",
	"adopted_histories": "of operators",
	"checkpoint_state":  "one row",
	"checkpoints":       "by time: one for each moment that is stored",
	"checkpoint_boards": "one for each checkpoint and board",
	"checkpoint_blocks": "of a checkpoint: blocks of the rows of its users",
	"rank_samples":      "by time: one for each sample of a board",
	"reward_tables":     "of operators",
	"reward_bands":      "of operators",
	"reward_boards":     "of operators: boards that have had a table of rewards",
	"reward_messages":   "one row for each webhook",
	"reward_runs":       "one for each period of a board with a table of rewards",
	"league_runs":       "one for each period of a league",
	"void_rewards":      "of operators: one for each void and reward that it takes back",
	"goose_db_version":  "one row for each migration",
}

// Every table is in the table of the threat model that says what bounds it and who pays for reading it,
// unless players create none of its rows; and nothing else is.
func TestTablesOfPlayersAreBounded(t *testing.T) {
	t.Parallel()
	_, conn := storetest.New(t)
	rows, err := conn.Query(t.Context(), `select c.relname::text from pg_class as c
where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/threats.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "| a player creates | tables | bound | who pays for reading it |\n")
	list, _, _ := strings.Cut(rest, "\n\n")
	var listed []string
	for line := range strings.Lines(list) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || strings.TrimSpace(cells[3]) == "" || strings.TrimSpace(cells[4]) == "" {
			t.Errorf("a row without a bound or who pays: %s", line)
			continue
		}
		for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cells[2], -1) {
			listed = append(listed, m[1])
		}
	}
	for _, table := range tables {
		if slices.Contains(listed, table) == (notOfPlayers[table] != "") {
			t.Errorf("table %s must be either in the table of docs/threats.md or in notOfPlayers", table)
		}
	}
	for _, table := range slices.AppendSeq(listed, maps.Keys(notOfPlayers)) {
		if !slices.Contains(tables, table) {
			t.Errorf("%s is listed, and is no table", table)
		}
	}
}
