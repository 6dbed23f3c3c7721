package backends

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/scoreboard/scoreboard/server/devstack"
)

// Kafka returns the shared broker. It does not create topics automatically. Topics
// that begin with Prefix(t) are deleted after the test.
func Kafka(t testing.TB) (brokers []string) {
	t.Helper()
	brokers, err := sharedKafka()
	require(t, "Apache Kafka", err)
	prefix := Prefix(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := deleteTopics(ctx, brokers, prefix); err != nil {
			t.Errorf("delete the test's topics: %v", err)
		}
	})
	return brokers
}

// EachKafka runs a test on Apache Kafka and on the stand-in of the development
// stack.
func EachKafka(t *testing.T, do func(t *testing.T, brokers []string, prefix string)) {
	t.Run("kafka", func(t *testing.T) {
		t.Parallel()
		do(t, Kafka(t), Prefix(t))
	})
	t.Run("kfake", func(t *testing.T) {
		t.Parallel()
		stop, brokers, err := devstack.FakeKafka("")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		do(t, brokers, "")
	})
}

var prefixes struct {
	sync.Mutex
	of map[testing.TB]string
}

// Prefix returns a prefix for the names of topics, consumer groups and other things
// in shared backends. It is unique to a test and a run, and constant within a test.
func Prefix(t testing.TB) string {
	prefixes.Lock()
	defer prefixes.Unlock()
	if prefix, ok := prefixes.of[t]; ok {
		return prefix
	}
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '-'
	}, t.Name())
	// A topic name has at most 249 characters, including what the test appends.
	prefix := name[:min(len(name), 100)] + "-" + strings.ToLower(rand.Text()[:10]) + "-"
	if prefixes.of == nil {
		prefixes.of = make(map[testing.TB]string)
	}
	prefixes.of[t] = prefix
	t.Cleanup(func() {
		prefixes.Lock()
		defer prefixes.Unlock()
		delete(prefixes.of, t)
	})
	return prefix
}

func deleteTopics(ctx context.Context, brokers []string, prefix string) error {
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(brokers...), Transport: transport}
	all, err := client.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	var names []string
	for _, topic := range all.Topics {
		if strings.HasPrefix(topic.Name, prefix) {
			names = append(names, topic.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	deleted, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: names})
	if err != nil {
		return fmt.Errorf("delete %v: %w", names, err)
	}
	var errs []error
	for name, err := range deleted.Errors {
		if err != nil && !errors.Is(err, kafka.UnknownTopicOrPartition) {
			errs = append(errs, fmt.Errorf("delete %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
