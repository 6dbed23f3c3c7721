package kafka_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/transporttest"
)

// pingTime is the time that readiness gives a ping.
const pingTime = 2 * time.Second

func ping(t *testing.T, c *kafka.Client) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pingTime)
	defer cancel()
	return c.Ping(ctx)
}

// A ping asks a broker now: nothing that the client remembers answers for dead brokers.
func TestPingLeavesTheProcess(t *testing.T) {
	t.Parallel()
	broker := backends.OwnKafka(t)
	c := kafka.New(kafka.Options{Brokers: broker.Brokers, Timeout: time.Second})
	t.Cleanup(c.Close)
	topic := kafka.Topic{Name: "ping", Partitions: 1, Retention: time.Hour, Replicas: 1}
	if _, err := c.Ensure(t.Context(), topic); err != nil { // fills the memory of kafka-go
		t.Fatal(err)
	}
	check := func(what string, up bool) {
		t.Helper()
		transporttest.Until(t, what, func() bool { return (ping(t, c) == nil) == up })
		if err := ping(t, c); (err == nil) != up { // with what the one before left
			t.Errorf("%s: got %v", what, err)
		}
	}
	check("a broker that runs", true)
	resume := broker.Hang()
	check("a broker that hangs", false)
	resume()
	check("a broker that goes on", true)
	broker.Kill()
	check("a dead broker", false)
	broker.Start()
	check("a broker that is back", true)
}

// A broker that hangs hides no other that answers.
func TestPingPassesHangingBroker(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	both := append([]string{silent.Addr().String()}, backends.Kafka(t)...)
	c := kafka.New(kafka.Options{Brokers: both, Timeout: time.Second})
	t.Cleanup(c.Close)
	for range 3 {
		if err := ping(t, c); err != nil {
			t.Error(err)
		}
	}
}
