package backends_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"

	"github.com/scoreboard/scoreboard/internal/test/backends"
)

func TestMain(m *testing.M) { backends.Main(m) }

var migrated atomic.Int64

func migrate(ctx context.Context, url string) error {
	migrated.Add(1)
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "create table notes (word text)")
	return errors.Join(err, conn.Close(ctx))
}

func TestDatabasesAreIsolated(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"first", "second", "third"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			url := backends.Postgres(t, migrate)
			t.Logf("database after %s", time.Since(began).Round(time.Millisecond))
			if got := notes(t, url); got != 0 {
				t.Errorf("got %d notes in a fresh database, want none", got)
			}
			note(t, url)
			if got := migrated.Load(); got != 1 {
				t.Errorf("the migrations ran %d times, want once", got)
			}
		})
	}
}

func TestPostgresKeepsDataOverStopAndKill(t *testing.T) {
	t.Parallel()
	server := backends.OwnPostgres(t, migrate2)
	note(t, server.URL)
	server.Stop()
	if conn, err := pgx.Connect(t.Context(), server.URL); err == nil {
		_ = conn.Close(t.Context())
		t.Fatal("the stopped server answers")
	}
	server.Start()
	note(t, server.URL)
	server.Kill()
	server.Start()
	if got := notes(t, server.URL); got != 2 {
		t.Errorf("got %d notes after the kill, want 2", got)
	}
}

// migrate2 is migrate without the count.
func migrate2(ctx context.Context, url string) error {
	defer migrated.Add(-1)
	return migrate(ctx, url)
}

func TestRedisKeepsDataOverStop(t *testing.T) {
	t.Parallel()
	server := backends.OwnRedis(t)
	client := backends.RedisClient(t, server.URL, func(o *redis.Options) { o.ContextTimeoutEnabled = true })
	if err := client.Set(t.Context(), "word", "kept", 0).Err(); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Fatal("the stopped server answers")
	}
	server.Start()
	if got, err := client.Get(t.Context(), "word").Result(); err != nil || got != "kept" {
		t.Errorf("got %q and %v, want the value set before the stop", got, err)
	}
	resume := server.Hang()
	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := client.Ping(soon).Err(); err == nil {
		t.Error("the suspended server answers")
	}
	resume()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("ping after resuming: %v", err)
	}
}

func TestKafkaTopicsAreDeletedAfterTheTest(t *testing.T) {
	t.Parallel()
	var topic string
	var brokers []string
	t.Run("write and read", func(t *testing.T) {
		brokers = backends.Kafka(t)
		topic = backends.Prefix(t) + "scores"
		if again := backends.Prefix(t) + "scores"; again != topic {
			t.Errorf("got prefixes of %s and %s in one test, want the same", topic, again)
		}
		roundTrip(t, brokers, topic, "word")
	})
	// A broker confirms a deletion before its metadata shows it.
	deadline := time.Now().Add(10 * time.Second)
	got := topics(t, brokers, topic)
	for len(got) != 0 && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
		got = topics(t, brokers, topic)
	}
	if len(got) != 0 {
		t.Errorf("got %v after the test, want its topic deleted", got)
	}
}

func TestKafkaKeepsMessagesOverKill(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starting a broker takes seconds")
	}
	server := backends.OwnKafka(t)
	roundTrip(t, server.Brokers, "scores", "before")
	server.Kill()
	server.Start()
	if got := first(t, server.Brokers, "scores"); got != "before" {
		t.Errorf("got %q after the kill, want the message written before", got)
	}
}

// The test binary runs itself with an empty PATH, so that no backend is found.
func TestMissingBackendSkipsOrFailsInCI(t *testing.T) {
	t.Parallel()
	const child = "BACKENDTEST_CHILD"
	if os.Getenv(child) != "" {
		_ = backends.Redis(t)
		t.Fatal("found a Redis on an empty PATH")
	}
	for _, c := range []struct {
		name, ci, want string
		fails          bool
	}{
		{"locally", "", "SKIPPED", false},
		{"in CI", "true", "FAIL", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestMissingBackendSkipsOrFailsInCI$")
			cmd.Env = append(os.Environ(), child+"=1", "PATH=", "CI="+c.ci)
			out, err := cmd.CombinedOutput()
			if (err != nil) != c.fails || !strings.Contains(string(out), c.want) {
				t.Errorf("got %v and %s, want %s", err, out, c.want)
			}
		})
	}
}

func note(t *testing.T, url string) {
	t.Helper()
	backends.Connect(t, url).Do(t, "insert into notes values ('word')")
}

func notes(t *testing.T, url string) int64 {
	t.Helper()
	return backends.Connect(t, url).Count(t, "select count(*) from notes")
}

func roundTrip(t *testing.T, brokers []string, topic, word string) {
	t.Helper()
	transport := &kafka.Transport{MetadataTTL: 250 * time.Millisecond}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(brokers...), Transport: transport}
	made, err := client.CreateTopics(t.Context(), &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: 1, ReplicationFactor: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Errors[topic]; err != nil {
		t.Fatal(err)
	}
	writer := &kafka.Writer{
		Addr: kafka.TCP(brokers...), Topic: topic, RequiredAcks: kafka.RequireAll,
		BatchTimeout: 5 * time.Millisecond, Transport: transport,
	}
	if err := errors.Join(
		writer.WriteMessages(t.Context(), kafka.Message{Value: []byte(word)}),
		writer.Close(),
	); err != nil {
		t.Fatal(err)
	}
	if got := first(t, brokers, topic); got != word {
		t.Errorf("got %q, want %q", got, word)
	}
}

// first reads the first message of a topic. It retries, because a restarted broker is
// not the leader of its partitions at once.
func first(t *testing.T, brokers []string, topic string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	for {
		word, err := read(ctx, brokers[0], topic)
		if err == nil {
			return word
		}
		select {
		case <-ctx.Done():
			t.Fatalf("read %s: %v", topic, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func read(ctx context.Context, broker, topic string) (string, error) {
	conn, err := kafka.DialLeader(ctx, "tcp", broker, topic, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	message, err := conn.ReadMessage(1 << 10)
	return string(message.Value), err
}

func topics(t *testing.T, brokers []string, prefix string) []string {
	t.Helper()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(brokers...), Transport: transport}
	all, err := client.Metadata(t.Context(), &kafka.MetadataRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, topic := range all.Topics {
		if strings.HasPrefix(topic.Name, prefix) {
			names = append(names, topic.Name)
		}
	}
	return names
}
