// Command analytics is an example of a consumer: it reads the CloudEvents of all boards
// that Kafka still has, and writes what happened as CSV files: active users by day, the
// users who gained most, and the distribution of scores.
//
//	SCOREBOARD_ROLES=mirror scoreboardd                          # writes the topic (docs/feeds.md)
//	go run ./examples/analytics -brokers localhost:9092 -out reports
//
// Run it as often as you like: it reads everything again and replaces the files. The
// topic keeps a day of changes.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

func main() {
	brokers := flag.String("brokers", "localhost:9092", "addresses of Kafka, separated by commas")
	topic := flag.String("topic", "scoreboard.cloudevents.v1", "topic of the CloudEvents")
	out := flag.String("out", "reports", "folder for the CSV files")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, strings.Split(*brokers, ","), *topic, *out); err != nil {
		fmt.Fprintln(os.Stderr, "analytics:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, brokers []string, topic, out string) error {
	report := newReport()
	partitions, err := kafka.DefaultDialer.LookupPartitions(ctx, "tcp", brokers[0], topic)
	if err != nil {
		return fmt.Errorf("look up the partitions of %s: %w", topic, err)
	}
	for _, p := range partitions {
		if err := read(ctx, brokers, p, report); err != nil {
			return fmt.Errorf("read partition %d of %s: %w", p.ID, topic, err)
		}
	}
	if err := report.write(out); err != nil {
		return err
	}
	fmt.Printf("%d changes of %d users are in %s\n", report.changes, len(report.standings), out)
	return nil
}

// read adds the records that a partition has now to the report.
func read(ctx context.Context, brokers []string, p kafka.Partition, report *report) error {
	conn, err := kafka.DefaultDialer.DialPartition(ctx, "tcp", brokers[0], p)
	if err != nil {
		return err
	}
	first, end, err := conn.ReadOffsets()
	if err = errors.Join(err, conn.Close()); err != nil {
		return err
	}
	if first == end {
		return nil
	}
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: brokers, Topic: p.Topic, Partition: p.ID, MaxWait: 100 * time.Millisecond, // Close waits as long
	})
	defer func() { _ = reader.Close() }()
	if err := reader.SetOffset(first); err != nil {
		return err
	}
	for {
		record, err := reader.ReadMessage(ctx)
		if err != nil {
			return err
		}
		var e event
		if err := json.Unmarshal(record.Value, &e); err != nil {
			return fmt.Errorf("offset %d: %w", record.Offset, err)
		}
		report.add(&e)
		if record.Offset >= end-1 {
			return nil
		}
	}
}
