package store_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// userTables are the tables of the write path whose rows belong to users.
var userTables = []string{
	"users", "scores", "user_score_histories", "outbox_score_updates", "reversals", "rejected_events",
	"used_action_tokens", "flags",
}

// tableOfUsers returns the table of users that a relation is, or is a partition of; "" for
// any other.
func tableOfUsers(relation string) string {
	for _, table := range userTables {
		if relation == table || strings.HasPrefix(relation, table+"_") {
			return table
		}
	}
	return ""
}

// planNode is a node of a plan of auto_explain.
type planNode struct {
	Type     string     `json:"Node Type"`
	Relation string     `json:"Relation Name"`
	Index    string     `json:"Index Name"`
	Cond     string     `json:"Index Cond"`
	Recheck  string     `json:"Recheck Cond"` // that of a bitmap, which has the condition of the index
	Plans    []planNode `json:"Plans"`
}

// walk calls do with a node and all below it.
func (n *planNode) walk(do func(*planNode)) {
	do(n)
	for i := range n.Plans {
		n.Plans[i].walk(do)
	}
}

// TestWritePathReadsRowsOfItsUsersOnly runs what increments cause, and reads from the plans
// that PostgreSQL made how each statement finds rows: by an index, with a condition on the
// user. So each statement touches rows of the users whom it is given, and a batch of users
// of one shard is a transaction of that shard.
func TestWritePathReadsRowsOfItsUsersOnly(t *testing.T) {
	t.Parallel()
	postgres := backends.OwnPostgres(t, migrations.Up)
	owner := backends.Connect(t, backends.Owner(postgres.URL))
	owner.Do(t, "load 'auto_explain'") // its settings are unknown before
	for _, setting := range []string{
		"session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0",
		"auto_explain.log_nested_statements = on", "auto_explain.log_format = json",
	} {
		owner.Do(t, "alter system set "+setting)
	}
	owner.Do(t, "select pg_reload_conf()")
	s := storetest.Open(t, postgres.URL)
	owner.Do(t, `insert into boards (board_id, family_id, mode) values ('best', 'best', 'best')`)

	record(t, s, increment("ann", 1, "e1"), increment("bob", 1, "e1"), increment("cat", 1, "e1")) // added
	record(t, s, increment("ann", 1, "e1"), increment("bob", 2, "e2"))                            // a repeat
	best := increment("ann", 5, "e3")
	best.Boards = []scoreboard.BoardID{"best"}
	record(t, s, best, increment("cat", 3, "e4")) // a decision
	recordOne(t, s, ending("bob", "e5", 1))       // an action token
	rejected := ending("cat", "e6", 1)
	rejected.Delta = 1 << 50
	recordOne(t, s, rejected)

	plans := plansIn(t, owner)
	seen := make(map[string]int)
	for _, plan := range plans {
		var sql string
		if err := json.Unmarshal(plan["Query Text"], &sql); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(sql, "standings") || strings.Contains(sql, "pg_") && !strings.Contains(sql, "unnest") {
			continue
		}
		var root planNode
		if err := json.Unmarshal(plan["Plan"], &root); err != nil {
			t.Fatal(err)
		}
		root.walk(func(n *planNode) {
			table := tableOfUsers(n.Relation)
			if table == "" {
				return
			}
			seen[table]++
			if n.Type == "ModifyTable" || strings.Contains(n.Cond+n.Recheck, "user_id = ") {
				return
			}
			t.Errorf("%s of %s by %q (%s) in\n%s", n.Type, n.Relation, n.Index, n.Cond, sql)
		})
	}
	t.Logf("%d plans, nodes by table: %v", len(plans), seen)
	for _, table := range []string{
		"users", "scores", "user_score_histories", "outbox_score_updates", "used_action_tokens",
	} {
		if seen[table] == 0 {
			t.Errorf("no plan touches %s: the test shows nothing of it", table)
		}
	}
}

// plansIn returns the plans in the log of a server.
func plansIn(t *testing.T, owner *backends.Conn) (plans []map[string]json.RawMessage) {
	t.Helper()
	var log string
	err := owner.QueryRow(t.Context(),
		`select pg_read_file(current_setting('data_directory') || '/../postgres.log')`).Scan(&log)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(log, "plan:\n")[1:] {
		var plan map[string]json.RawMessage
		if err := json.NewDecoder(strings.NewReader(part)).Decode(&plan); err != nil {
			t.Fatalf("%v in %.300s", err, part)
		}
		plans = append(plans, plan)
	}
	return plans
}

// TestUniqueKeysContainTheUser lists the keys that would not be unique over several
// databases.
func TestUniqueKeysContainTheUser(t *testing.T) {
	t.Parallel()
	conn := backends.Connect(t, backends.Owner(backends.Postgres(t, migrations.Up)))
	rows, err := conn.Query(t.Context(), `select c.relname, i.indexrelid::regclass::text
from pg_index as i join pg_class as c on c.oid = i.indrelid
where i.indisunique and c.relnamespace = current_schema()::regnamespace and not exists (
    select from pg_attribute as a where a.attrelid = i.indexrelid and a.attname = 'user_id')`)
	if err != nil {
		t.Fatal(err)
	}
	var without []string
	for rows.Next() {
		var table, index string
		if err := rows.Scan(&table, &index); err != nil {
			t.Fatal(err)
		}
		if tableOfUsers(table) != "" {
			without = append(without, index)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(without)
	want := []string{
		"flags_pkey", // a number from a sequence, by which operators name a flag
	}
	if !slices.Equal(without, want) {
		t.Errorf("keys without the user: %v, want %v", without, want)
	}
}
