package store_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/internal/test/storetest"
)

// notOfPlayers name users in rows that no player creates.
var notOfPlayers = []string{
	"user_statuses", // of operators: bans and freezes
	"import_scores", // of operators
	"reversals",     // of operators: corrections of events
	"void_events",   // of a void, until it is done
}

// Every table with the id of a user is in the table of the threat model that says what bounds it
// and who pays for reading it, unless players create none of its rows; and no other is.
func TestTablesOfPlayersAreBounded(t *testing.T) {
	t.Parallel()
	_, conn := storetest.New(t)
	rows, err := conn.Query(t.Context(), `select distinct c.relname::text from pg_class as c
join pg_attribute as a on a.attrelid = c.oid and a.attname in ('user_id', 'friend_user_id') and not a.attisdropped
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
		if slices.Contains(listed, table) == slices.Contains(notOfPlayers, table) {
			t.Errorf("table %s must be either in the table of docs/threats.md or in notOfPlayers", table)
		}
	}
	for _, table := range append(listed, notOfPlayers...) {
		if !slices.Contains(tables, table) {
			t.Errorf("%s is listed, and is no table with users", table)
		}
	}
}
