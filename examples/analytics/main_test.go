package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/instance"
	"github.com/scoreboard/scoreboard/migrations"
)

func TestMain(m *testing.M) { backends.Main(m) }

// A server's mirror writes what players do; the files say the same.
func TestReports(t *testing.T) {
	t.Parallel()
	brokers, prefix := backends.Kafka(t), backends.Prefix(t)
	topic := prefix + "ce"
	settings := []string{
		"roles", "api,relay,projector,maintenance,mirror", "transport", "kafka",
		"kafka-brokers", strings.Join(brokers, ","), "mirror-cloudevents-topic", topic, "mirror-plain-topic", "",
		"mirror-delta-stream", "", "mirror-group", prefix + "mirror", "mirror-partitions", "2",
	}
	for _, name := range []string{
		"topic", "increments-topic", "dead-topic", "notices-topic", "seasons-topic", "increments-dead-topic", "group",
		"intake-group",
	} {
		settings = append(settings, "kafka-"+name, prefix+name)
	}
	n := instance.StartNode(t, backends.Postgres(t, migrations.Up), backends.Redis(t), settings...)
	n.CreateKey(t)
	c, err := client.New(n.URL, client.Options{
		Token: instance.Token("game", "score:update score:admin"),
		KeyID: instance.KeyID, KeySecret: instance.Secret,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for _, in := range []client.Increment{
		{User: "ada", Delta: 5}, {User: "ada", Delta: 7}, {User: "grace", Delta: 300}, {User: "linus", Delta: 1},
	} {
		if _, err := c.Submit(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Ban(t.Context(), "linus", "a test"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	today := time.Now().UTC().Format(time.DateOnly)
	want := map[string]string{
		"movers.csv": "board,user_id,gained,score\nglobal,grace,300,300\nglobal,ada,12,12\n",
		"scores.csv": "board,score_from,score_below,users\nglobal,10,100,1\nglobal,100,1000,1\n",
		"daily.csv":  "board,day,active_users,changes,points\nglobal," + today + ",3,5,313\n",
	}
	var got map[string]string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err := run(t.Context(), brokers, topic, dir); err != nil {
			continue // the topic is being created
		}
		same := true
		got = make(map[string]string)
		for name := range want {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			got[name] = string(text)
			same = same && got[name] == want[name]
		}
		if same {
			return
		}
	}
	t.Errorf("got %q, want %q", got, want)
}

// Changes that arrive again, late, or from a later version change nothing.
func TestAddTakesNewerRevisionsOnly(t *testing.T) {
	t.Parallel()
	r := newReport()
	add := func(schema int, revision, score, delta int64) {
		e := event{Type: "com.github.scoreboard.score.changed", Time: time.Unix(0, 0)}
		e.Data.Schema, e.Data.Board, e.Data.User = schema, "global", "ada"
		e.Data.Revision, e.Data.Score, e.Data.Delta = revision, score, delta
		r.add(&e)
	}
	add(1, 1, 5, 5)
	add(1, 3, -9, -14)
	add(1, 1, 5, 5)
	add(1, 3, -9, -14)
	add(2, 4, 100, 109)
	want := "global,1970-01-01,1,2,-9 global,ada,-9,-9 global,,0,1"
	var got []string
	for _, rows := range [][][]string{r.daily(), r.movers(), r.scores()} {
		got = append(got, strings.Join(rows[1], ","))
	}
	if strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
