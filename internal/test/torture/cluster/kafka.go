package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/internal/test/backends"

	"github.com/scoreboard/scoreboard/server/devstack/process"
)

// broker is one broker behind its proxy.
type broker struct {
	*backends.KafkaBroker // nil before the first start
	name                  Backend
	net                   *Proxy
	o                     backends.KafkaOptions
}

// id is the broker's in the metadata of Kafka.
func (b *broker) id() int { return b.o.Node + 1 }

func (b *broker) start(ctx context.Context) (err error) {
	if b.KafkaBroker, err = backends.StartKafka(ctx, b.o); err == nil {
		b.net.SetTarget(b.Brokers[0])
	}
	return err
}

// brokerSet is the brokers of a cluster.
type brokerSet struct {
	o       Options
	brokers []*broker
	dirs    map[Backend]string // of the cluster
	host    string             // where their proxies listen
}

func (k *brokerSet) startKafka(ctx context.Context) error {
	var controllers []int
	for i := range max(k.o.Brokers, 1) {
		b := &broker{name: Kafka}
		if i > 0 {
			b.name = Backend(fmt.Sprintf("%s-%d", Kafka, i+1))
			k.dirs[b.name] = filepath.Join(k.o.Dir, string(b.name))
		}
		var err error
		if b.net, err = listenOn(ctx, k.host, ""); err != nil {
			return err
		}
		k.brokers = append(k.brokers, b)
		b.o = backends.KafkaOptions{Dir: k.dirs[b.name], Advertised: b.net.Addr(), Node: i}
		for j := range b.o.Ports {
			if b.o.Ports[j], err = process.FreePort(ctx); err != nil {
				return err
			}
		}
		controllers = append(controllers, b.o.Ports[1])
	}
	var all errgroup.Group
	for _, b := range k.brokers {
		b.o.Controllers = controllers
		all.Go(func() error { return b.start(ctx) })
	}
	return all.Wait()
}

func (k *brokerSet) kafkaAddrs() (all []string) {
	for _, b := range k.brokers {
		all = append(all, b.net.Addr())
	}
	return all
}

func (k *brokerSet) brokerOf(name Backend) *broker {
	for _, b := range k.brokers {
		if b.name == name {
			return b
		}
	}
	return nil
}

// AnyBroker draws one.
func (k *brokerSet) AnyBroker(rng *rand.Rand) Backend {
	return k.brokers[rng.IntN(len(k.brokers))].name
}

// KafkaNet is the proxy before a broker.
func (k *brokerSet) KafkaNet(b Backend) *Proxy { return k.brokerOf(b).net }

// MoveLeaders moves the leader of every partition to the first replica that is in
// sync, as a rolling upgrade does at its end.
func (k *brokerSet) MoveLeaders(ctx context.Context, topic string) error {
	// Every replica list turns by one, and the first of a list becomes the leader.
	return k.reassign(ctx, topic, func(replicas []int) []int { return append(replicas[1:], replicas[0]) })
}

// reassign gives every partition of a topic other replicas, the first of which leads if it is in sync.
func (k *brokerSet) reassign(ctx context.Context, topic string, to func(replicas []int) []int) error {
	return k.onKafka(ctx, func(ctx context.Context, client *kafka.Client) error {
		partitions, err := partitionsOf(ctx, client, topic)
		if err != nil {
			return err
		}
		move := &kafka.AlterPartitionReassignmentsRequest{Topic: topic, Timeout: 10 * time.Second}
		var ids []int
		for _, p := range partitions {
			replicas := idsOf(p.Replicas)
			if len(replicas) == 0 {
				continue
			}
			move.Assignments = append(move.Assignments, kafka.AlterPartitionReassignmentsRequestAssignment{
				Topic: topic, PartitionID: p.ID, BrokerIDs: to(replicas),
			})
			ids = append(ids, p.ID)
		}
		moved, err := client.AlterPartitionReassignments(ctx, move)
		if err != nil {
			return fmt.Errorf("reassign the partitions of %s: %w", topic, err)
		}
		if moved.Error != nil {
			return fmt.Errorf("reassign the partitions of %s: %w", topic, moved.Error)
		}
		_, err = client.ElectLeaders(ctx, &kafka.ElectLeadersRequest{
			Topic: topic, Partitions: ids, Timeout: 10 * time.Second,
		})
		return err
	})
}

func idsOf(brokers []kafka.Broker) (ids []int) {
	for _, b := range brokers {
		ids = append(ids, b.ID)
	}
	return ids
}

// RecreateTopic deletes a topic with all its records, where it exists, and creates it
// with that number of partitions.
func (k *brokerSet) RecreateTopic(ctx context.Context, topic string, partitions int) error {
	return k.onKafka(ctx, func(ctx context.Context, client *kafka.Client) error {
		deleted, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
		if err == nil {
			err = deleted.Errors[topic]
		}
		if err != nil && !errors.Is(err, kafka.UnknownTopicOrPartition) {
			return fmt.Errorf("delete %s: %w", topic, err)
		}
		for {
			made, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{
				Topic: topic, NumPartitions: partitions, ReplicationFactor: len(k.brokers),
			}}})
			if err == nil {
				err = made.Errors[topic]
			}
			if err == nil {
				return nil
			}
			if !errors.Is(err, kafka.TopicAlreadyExists) { // its deletion is not finished
				return fmt.Errorf("create %s: %w", topic, err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
}

// CutLogs takes records from the end of topics' logs while the only broker is down: those that
// it has after the call. cut starts the broker.
func (c *Cluster) CutLogs(topics ...string) (cut func(context.Context) error, err error) {
	data := filepath.Join(c.Dir(Kafka), "data")
	var logs []string
	for _, topic := range topics {
		found, err := filepath.Glob(filepath.Join(data, topic+"-*"))
		if err != nil {
			return nil, fmt.Errorf("find the logs of %s: %w", topic, err)
		}
		logs = append(logs, found...)
	}
	old, err := os.MkdirTemp(c.o.Dir, "logs-")
	if err != nil {
		return nil, fmt.Errorf("keep a copy of the logs: %w", err)
	}
	for _, log := range logs {
		if err := os.CopyFS(filepath.Join(old, filepath.Base(log)), os.DirFS(log)); err != nil {
			return nil, fmt.Errorf("keep a copy of a log: %w", err)
		}
	}
	return func(ctx context.Context) error {
		c.KillBackend(Kafka)
		for _, log := range logs {
			if err := os.RemoveAll(log); err != nil {
				return fmt.Errorf("cut a log: %w", err)
			}
			if err := os.Rename(filepath.Join(old, filepath.Base(log)), log); err != nil {
				return fmt.Errorf("cut a log: %w", err)
			}
		}
		return c.StartBackend(ctx, Kafka)
	}, nil
}

// ConfigureTopic sets settings of a topic.
func (k *brokerSet) ConfigureTopic(ctx context.Context, topic string, settings map[string]string) error {
	return k.onKafka(ctx, func(ctx context.Context, client *kafka.Client) error {
		change := kafka.IncrementalAlterConfigsRequestResource{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
		}
		for name, value := range settings {
			change.Configs = append(change.Configs, kafka.IncrementalAlterConfigsRequestConfig{
				Name: name, Value: value, ConfigOperation: kafka.ConfigOperationSet,
			})
		}
		changed, err := client.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
			Resources: []kafka.IncrementalAlterConfigsRequestResource{change},
		})
		for i := 0; err == nil && i < len(changed.Resources); i++ {
			err = changed.Resources[i].Error
		}
		if err != nil {
			return fmt.Errorf("configure %s: %w", topic, err)
		}
		return nil
	})
}

// CountRecords reads a topic: how many records it has, and how many it would have without compaction.
func (k *brokerSet) CountRecords(ctx context.Context, topic string) (records, offsets int64, err error) {
	err = k.onKafka(ctx, func(ctx context.Context, client *kafka.Client) error {
		partitions, err := partitionsOf(ctx, client, topic)
		if err != nil {
			return err
		}
		for _, p := range partitions {
			n, of, err := k.countPartition(ctx, client, topic, p.ID)
			if err != nil {
				return fmt.Errorf("read partition %d of %s: %w", p.ID, topic, err)
			}
			records, offsets = records+n, offsets+of
		}
		return nil
	})
	return records, offsets, err
}

func (k *brokerSet) countPartition(
	ctx context.Context, client *kafka.Client, topic string, id int,
) (records, offsets int64, err error) {
	first, last, err := endsOf(ctx, client, topic, id)
	if err != nil {
		return 0, 0, err
	}
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: k.kafkaAddrs(), Topic: topic, Partition: id, MinBytes: 1, MaxBytes: 8 << 20,
	})
	defer func() { _ = reader.Close() }()
	if err := reader.SetOffset(first); err != nil {
		return 0, 0, err
	}
	for at := first; at < last; { // the last record of a partition is never compacted
		m, err := reader.ReadMessage(ctx)
		if err != nil {
			return 0, 0, err
		}
		at = m.Offset + 1
		records++
	}
	return records, last - first, nil
}

// RepeatRecords publishes up to n recent records of a partition again, after newer ones,
// as a relay does whose lease another has taken while its request was on its way.
func (k *brokerSet) RepeatRecords(ctx context.Context, rng *rand.Rand, topic string, n int) error {
	return k.onKafka(ctx, func(ctx context.Context, client *kafka.Client) error {
		partitions, err := partitionsOf(ctx, client, topic)
		if err != nil {
			return err
		}
		id := partitions[rng.IntN(len(partitions))].ID
		first, last, err := endsOf(ctx, client, topic, id)
		if err != nil {
			return err
		}
		from := max(first, last-int64(n+rng.IntN(10*n)))
		fetched, err := client.Fetch(ctx, &kafka.FetchRequest{
			Topic: topic, Partition: id, Offset: from, MinBytes: 1, MaxBytes: 1 << 20, MaxWait: time.Second,
		})
		if err != nil || fetched.Error != nil {
			return fmt.Errorf("read partition %d of %s: %w", id, topic, errors.Join(err, fetched.Error))
		}
		var again []kafka.Record
		for len(again) < n {
			r, err := fetched.Records.ReadRecord()
			if err != nil { // the end
				break
			}
			key, err := kafka.ReadAll(r.Key)
			if err != nil {
				return fmt.Errorf("read a key of %s: %w", topic, err)
			}
			value, err := kafka.ReadAll(r.Value)
			if err != nil {
				return fmt.Errorf("read a value of %s: %w", topic, err)
			}
			again = append(again, kafka.Record{
				Key: kafka.NewBytes(key), Value: kafka.NewBytes(value), Headers: r.Headers, Time: r.Time,
			})
		}
		if len(again) == 0 {
			return nil
		}
		produced, err := client.Produce(ctx, &kafka.ProduceRequest{
			Topic: topic, Partition: id, RequiredAcks: kafka.RequireAll, Records: kafka.NewRecordReader(again...),
		})
		if err == nil {
			err = produced.Error
		}
		if err != nil {
			return fmt.Errorf("publish %d records of %s again: %w", len(again), topic, err)
		}
		return nil
	})
}

// endsOf returns the first offset of a partition, and the one after its last record.
func endsOf(ctx context.Context, client *kafka.Client, topic string, id int) (first, last int64, err error) {
	ends, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{
		topic: {kafka.FirstOffsetOf(id), kafka.LastOffsetOf(id)},
	}})
	if err != nil || len(ends.Topics[topic]) != 1 {
		return 0, 0, fmt.Errorf("find the ends of partition %d of %s: %w", id, topic, err)
	}
	return ends.Topics[topic][0].FirstOffset, ends.Topics[topic][0].LastOffset, nil
}

func partitionsOf(ctx context.Context, client *kafka.Client, topic string) ([]kafka.Partition, error) {
	found, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil {
		return nil, fmt.Errorf("find the partitions of %s: %w", topic, err)
	}
	if len(found.Topics) != 1 || found.Topics[0].Error != nil || len(found.Topics[0].Partitions) == 0 {
		return nil, fmt.Errorf("find the partitions of %s: got %+v", topic, found.Topics)
	}
	return found.Topics[0].Partitions, nil
}

// onKafka calls do with a client whose metadata come from any broker that runs.
func (k *brokerSet) onKafka(ctx context.Context, do func(context.Context, *kafka.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	transport := &kafka.Transport{MetadataTTL: 100 * time.Millisecond}
	defer transport.CloseIdleConnections()
	return do(ctx, &kafka.Client{Addr: kafka.TCP(k.kafkaAddrs()...), Transport: transport})
}
