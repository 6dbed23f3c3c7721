package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/produce"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Producer writes to one topic: one request for all partitions of a leader, because a
// broker spends more on a request than on the records in it.
type Producer struct {
	client      *Client
	topic       string
	acks        kafkago.RequiredAcks
	compression protocol.Attributes

	inFlight sync.WaitGroup
	mu       sync.Mutex
	leaders  []int // broker by partition
	readAt   time.Time
}

// Producer returns a producer, which the caller closes.
func (c *Client) Producer(topic string) *Producer {
	p := &Producer{
		client: c, topic: topic, acks: kafkago.RequireAll,
		compression: protocol.Attributes(codecs[c.o.Compression]),
	}
	if c.o.Acks == "one" {
		p.acks = kafkago.RequireOne
	}
	return p
}

// codecs are the compressions by name; any other name is none.
var codecs = map[string]kafkago.Compression{
	"gzip": kafkago.Gzip, "snappy": kafkago.Snappy, "lz4": kafkago.Lz4, "zstd": kafkago.Zstd,
}

// Close waits for the writes in progress.
func (p *Producer) Close() error {
	p.inFlight.Wait()
	return nil
}

// Produce writes messages and returns how many from the front are acknowledged.
// Some of the others may have been written, too. The error has the code
// payload_too_large if a broker rejects the next message, or the batch that
// holds it, for its size.
func (p *Producer) Produce(ctx context.Context, messages []transport.Message) (int, error) {
	if len(messages) == 0 {
		return 0, nil
	}
	n, err := p.Partitions(ctx)
	if err != nil {
		return 0, err
	}
	partitions := make([]int, n)
	for i := range partitions {
		partitions[i] = i
	}
	var hash kafkago.Hash // stateless for messages with a key, and all have one
	w := newWriting(p, n)
	for i := range messages {
		w.add(&messages[i], hash.Balance(kafkago.Message{Key: messages[i].Key}, partitions...))
	}
	return w.run(ctx)
}

// Broadcast writes one message to every partition.
func (p *Producer) Broadcast(ctx context.Context, key, value []byte) error {
	n, err := p.Partitions(ctx)
	if err != nil {
		return err
	}
	w := newWriting(p, n)
	for partition := range n {
		w.add(&transport.Message{Key: key, Value: value}, partition)
	}
	_, err = w.run(ctx)
	return err
}

// leadersMaxAge is how late a producer may notice added partitions. A leader that has
// changed is noticed by the error of the former one.
const leadersMaxAge = time.Second

// Partitions counts the partitions of the topic.
func (p *Producer) Partitions(ctx context.Context) (int, error) {
	leaders, err := p.readLeaders(ctx, leadersMaxAge)
	return len(leaders), err
}

// readLeaders returns the broker that leads each partition, as it was known at most maxAge
// ago; -1 for none.
func (p *Producer) readLeaders(ctx context.Context, maxAge time.Duration) ([]int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leaders != nil && time.Since(p.readAt) < maxAge {
		return p.leaders, nil
	}
	leaders, err := p.client.leaders(ctx, p.topic)
	if err != nil {
		return nil, err
	}
	p.leaders, p.readAt = leaders, time.Now()
	return leaders, nil
}

// A message is written in at most two attempts; the caller retries, with backoff.
const (
	attempts   = 2
	retryPause = metadataTTL // until the leaders can be read again
)

// maxBatchBytes bounds the records for one partition in a request: brokers accept batches
// of a megabyte by default.
const maxBatchBytes = 900_000

// writing is one call of Produce or Broadcast.
type writing struct {
	p        *Producer
	messages []*transport.Message
	queues   [][]int // by partition: messages that are not acknowledged, in order

	mu       sync.Mutex
	failures map[int]error // by partition, in this attempt
}

func newWriting(p *Producer, partitions int) *writing {
	return &writing{p: p, queues: make([][]int, partitions)}
}

func (w *writing) add(m *transport.Message, partition int) {
	w.queues[partition] = append(w.queues[partition], len(w.messages))
	w.messages = append(w.messages, m)
}

// run writes everything and returns how many messages from the front are acknowledged.
// A partition that fails gets nothing more in this attempt, so that its messages keep
// their order.
func (w *writing) run(ctx context.Context) (int, error) {
	w.p.inFlight.Add(1)
	defer w.p.inFlight.Done()
	maxAge := leadersMaxAge
	for attempt := 1; ; attempt++ {
		leaders, err := w.p.readLeaders(ctx, maxAge)
		if err != nil {
			return w.acknowledged(err)
		}
		w.failures = make(map[int]error)
		for requests := w.requests(leaders); len(requests) > 0; requests = w.requests(leaders) {
			w.sendAll(ctx, requests)
		}
		if len(w.failures) == 0 {
			return len(w.messages), nil
		}
		if attempt == attempts || !w.mayRetry() {
			return w.acknowledged(nil)
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return w.acknowledged(nil)
		}
		maxAge = retryPause
	}
}

// request is what one leader gets: the messages of each partition, by their indexes.
type request struct {
	partitions []int
	chunks     [][]int
	sizes      []int // of the chunks, in bytes, at least
}

// requests takes the next messages of each partition that has not failed, by leader.
func (w *writing) requests(leaders []int) map[int]*request {
	requests := make(map[int]*request)
	for partition, queue := range w.queues {
		if len(queue) == 0 || w.failures[partition] != nil {
			continue
		}
		if partition >= len(leaders) || leaders[partition] < 0 {
			w.failures[partition] = kafkago.LeaderNotAvailable
			continue
		}
		r := requests[leaders[partition]]
		if r == nil {
			r = &request{}
			requests[leaders[partition]] = r
		}
		n, size := 0, 0
		for n < len(queue) && (n == 0 || size+sizeOf(w.messages[queue[n]]) <= maxBatchBytes) {
			size += sizeOf(w.messages[queue[n]])
			n++
		}
		r.partitions, r.chunks = append(r.partitions, partition), append(r.chunks, queue[:n])
		r.sizes = append(r.sizes, size)
	}
	return requests
}

// sizeOf returns at least the size of a record.
func sizeOf(m *transport.Message) int {
	const overhead = 32
	size := overhead + len(m.Key) + len(m.Value)
	for i := range m.Headers {
		size += overhead + len(m.Headers[i].Key) + len(m.Headers[i].Value)
	}
	return size
}

// sendAll sends a request to each leader at once.
func (w *writing) sendAll(ctx context.Context, requests map[int]*request) {
	var all sync.WaitGroup
	for _, r := range requests {
		all.Go(func() { w.send(ctx, r) })
	}
	all.Wait()
}

// send takes acknowledged messages off their queues and notes which partitions failed.
func (w *writing) send(ctx context.Context, r *request) {
	timeout := w.p.client.o.Timeout
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	partitions := make([]produce.RequestPartition, len(r.partitions))
	req := &produce.Request{
		Acks: int16(w.p.acks), Timeout: int32(timeout.Milliseconds()),
		Topics: []produce.RequestTopic{{Topic: w.p.topic, Partitions: partitions}},
	}
	for i, partition := range r.partitions {
		partitions[i] = produce.RequestPartition{
			Partition: int32(partition),
			RecordSet: protocol.RecordSet{Attributes: w.p.compressionOf(r.sizes[i]), Records: w.records(r.chunks[i])},
		}
	}
	codes := make(map[int]int16, len(r.partitions))
	res, err := w.p.client.transport.RoundTrip(ctx, w.p.client.api.Addr, req)
	if err == nil {
		for _, topic := range res.(*produce.Response).Topics {
			for i := range topic.Partitions {
				codes[int(topic.Partitions[i].Partition)] = topic.Partitions[i].ErrorCode
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, partition := range r.partitions {
		code, answered := codes[partition]
		switch {
		case err != nil:
			w.failures[partition] = err
		case !answered:
			w.failures[partition] = errNoAnswer
		case code != 0:
			w.failures[partition] = kafkago.Error(code)
		default:
			w.queues[partition] = w.queues[partition][len(r.chunks[i]):]
		}
	}
}

var errNoAnswer = errors.New("the broker has not answered for the partition")

// compressFrom is the size of a batch, in bytes, from which on it is compressed. For a record
// or two, that saves little and costs both sides: lz4 takes buffers of 4 MiB for each batch.
const compressFrom = 1 << 10

// compressionOf is that of a batch of so many bytes.
func (p *Producer) compressionOf(size int) protocol.Attributes {
	if size < compressFrom {
		return 0 // none
	}
	return p.compression
}

func (w *writing) records(chunk []int) protocol.RecordReader {
	records := make([]protocol.Record, len(chunk))
	for i, index := range chunk {
		m := w.messages[index]
		records[i] = protocol.Record{Key: protocol.NewBytes(m.Key), Value: protocol.NewBytes(m.Value)}
		for _, h := range m.Headers {
			records[i].Headers = append(records[i].Headers, protocol.Header{Key: h.Key, Value: h.Value})
		}
	}
	return protocol.NewRecordReader(records...)
}

// mayRetry reports whether a second attempt may write what has failed.
func (w *writing) mayRetry() bool {
	for _, err := range w.failures {
		if !tooLarge(err) {
			return true
		}
	}
	return false
}

// acknowledged returns how many messages from the front are written, and why the next one
// is not: err, or the failure of its partition.
func (w *writing) acknowledged(err error) (int, error) {
	first := len(w.messages)
	for partition, queue := range w.queues {
		if len(queue) > 0 && queue[0] < first {
			first = queue[0]
			if failure := w.failures[partition]; err == nil || failure != nil {
				err = failure
			}
		}
	}
	failed := err
	err = fmt.Errorf("produce %d messages to %s: %w", len(w.messages), w.p.topic, err)
	if tooLarge(failed) {
		err = &scoreboard.Error{
			Code: wire.CodePayloadTooLarge, Message: "the message is too large for the transport", Err: err,
		}
	}
	return first, err
}

// tooLarge distinguishes a rejected message from an outage.
func tooLarge(err error) bool {
	return errors.Is(err, kafkago.MessageSizeTooLarge) || errors.Is(err, kafkago.RecordListTooLarge)
}
