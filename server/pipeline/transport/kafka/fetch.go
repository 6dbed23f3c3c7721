package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A fetch waits for records at most fetchWait, and returns those of a partition up to
// fetchPartitionBytes, of all up to fetchBytes, as they are compressed; more only if one
// batch is larger. kafka-go takes 64 KiB of memory for each batch until the response is read:
// batches of single records, of 300 bytes, make that 28 MiB at most.
const (
	fetchWait           = time.Second
	fetchBytes          = 128 << 10
	fetchPartitionBytes = 64 << 10
)

// leaderPause is the pause after a leader has not answered or does not lead a partition
// any more.
const leaderPause = metadataTTL

// emptyPause is the pause after a fetch that returned nothing, but did not wait either:
// something is there that cannot be read.
const emptyPause = 100 * time.Millisecond

// fetcher reads partitions of a topic, with one request at a time to each leader for all
// partitions that it leads. A request for each partition, as kafka-go's Reader makes,
// costs both sides more than the records do.
type fetcher struct {
	client *Client
	topic  string
	next   map[int]*cursor // of each partition
	// take gets the records of one response, in order within each partition. If it returns
	// an error, they are fetched again or the fetcher ends with its context.
	take func(ctx context.Context, records []scoreboard.Record) error
}

// run fetches until ctx ends, and then returns nil. It returns an error only if a
// partition does not hold the next offset: it was trimmed, or its log is another one.
func (f *fetcher) run(ctx context.Context) error {
	for {
		leaders, err := f.client.leaders(ctx, f.topic)
		if err == nil {
			err = f.fetchFrom(ctx, leaders)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, kafkago.OffsetOutOfRange), errors.Is(err, errCut):
			return fmt.Errorf("fetch: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(leaderPause):
		}
	}
}

// fetchFrom fetches from each leader until one fails, or a partition without a leader
// may have got one.
func (f *fetcher) fetchFrom(ctx context.Context, leaders []int) error {
	led := make(map[int][]int)
	for partition := range f.next {
		leader := -1
		if partition < len(leaders) {
			leader = leaders[partition]
		}
		led[leader] = append(led[leader], partition)
	}
	loops, ctx := errgroup.WithContext(ctx)
	for leader, partitions := range led {
		loops.Go(func() error {
			if leader >= 0 {
				return f.loop(ctx, partitions)
			}
			select {
			case <-time.After(fetchWait):
			case <-ctx.Done():
			}
			return kafkago.LeaderNotAvailable
		})
	}
	return loops.Wait()
}

// loop fetches partitions of one leader until it fails.
func (f *fetcher) loop(ctx context.Context, partitions []int) error {
	for {
		began := time.Now()
		progress, err := f.fetch(ctx, partitions)
		if err != nil {
			return err
		}
		// Another one comes first the next time: a large partition may fill a response.
		partitions = append(partitions[1:], partitions[0])
		if progress || time.Since(began) > fetchWait/2 {
			continue
		}
		select {
		case <-time.After(emptyPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fetch makes one request. It reports whether the next offset of a partition rose.
func (f *fetcher) fetch(ctx context.Context, partitions []int) (progress bool, err error) {
	asked := make([]fetch.RequestPartition, len(partitions))
	for i, p := range partitions {
		asked[i] = fetch.RequestPartition{
			Partition: int32(p), CurrentLeaderEpoch: unknownEpoch, FetchOffset: f.next[p].offset, LogStartOffset: -1,
			PartitionMaxBytes: fetchPartitionBytes,
		}
	}
	const noSession = -1
	request := &fetch.Request{
		ReplicaID: -1, MaxWaitTime: int32(fetchWait.Milliseconds()), MinBytes: 1, MaxBytes: fetchBytes,
		SessionEpoch: noSession, Topics: []fetch.RequestTopic{{Topic: f.topic, Partitions: asked}},
	}
	requestCtx, cancel := context.WithTimeout(ctx, fetchWait+f.client.o.Timeout)
	defer cancel()
	answer, err := f.client.transport.RoundTrip(requestCtx, f.client.api.Addr, request)
	if err != nil {
		return false, err
	}
	response := answer.(*fetch.Response)
	if response.ErrorCode != 0 {
		return false, kafkago.Error(response.ErrorCode)
	}
	var records []scoreboard.Record
	reached := make(map[int]cursor, len(partitions))
	for i := range response.Topics {
		for j := range response.Topics[i].Partitions {
			p := &response.Topics[i].Partitions[j]
			next, known := f.next[int(p.Partition)]
			if !known {
				continue
			}
			if p.ErrorCode != 0 {
				err = errors.Join(err, fmt.Errorf("partition %d: %w", p.Partition, kafkago.Error(p.ErrorCode)))
				continue
			}
			if err := f.checkEpoch(ctx, p, *next); err != nil {
				return false, err
			}
			var after cursor
			var readErr error
			if records, after, readErr = f.read(records, p, *next); readErr != nil {
				return false, readErr
			}
			reached[int(p.Partition)] = after
		}
	}
	if len(records) > 0 {
		if err := f.take(ctx, records); err != nil {
			return false, err
		}
	}
	for p, after := range reached {
		progress = progress || after.offset > f.next[p].offset
		*f.next[p] = after
	}
	return progress, err
}

// read appends the records of a partition from an offset on, and returns the offset after
// them. A response begins with the batch that holds the offset. If compaction has removed
// the record there and all later ones of the batch, the next offset is asked for:
// kafka-go does not tell where a batch ends.
func (f *fetcher) read(
	to []scoreboard.Record, p *fetch.ResponsePartition, next cursor,
) (records []scoreboard.Record, after cursor, err error) {
	stream, ok := p.RecordSet.Records.(*protocol.RecordStream)
	if !ok { // nothing
		return to, next, nil
	}
	first := next
	for _, batch := range stream.Records {
		if control, ok := batch.(*protocol.ControlBatch); ok { // the end of a transaction: one record
			next = cursor{max(next.offset, control.BaseOffset+1), control.PartitionLeaderEpoch}
			continue
		}
		epoch := epochOf(batch)
		for {
			r, err := batch.ReadRecord()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return to, next, fmt.Errorf("read partition %d: %w", p.Partition, err)
			}
			record := scoreboard.Record{
				Topic: f.topic, Partition: int(p.Partition), Offset: r.Offset, Time: r.Time, LeaderEpoch: epoch,
			}
			if record.Key, err = readBytes(r.Key); err != nil {
				return to, next, err
			}
			if record.Value, err = readBytes(r.Value); err != nil {
				return to, next, err
			}
			record.Trace = traceOf(r.Headers)
			if r.Offset >= next.offset {
				to, next = append(to, record), cursor{r.Offset + 1, epoch}
			}
		}
	}
	if len(stream.Records) > 0 && next == first {
		next.offset++
	}
	return to, next, nil
}

// checkEpoch returns errCut if records follow that were not written after those before a
// cursor: any cut of a log has a new leader, and so a new epoch.
func (f *fetcher) checkEpoch(ctx context.Context, p *fetch.ResponsePartition, next cursor) error {
	stream, ok := p.RecordSet.Records.(*protocol.RecordStream)
	if !ok || len(stream.Records) == 0 || next.epoch == unknownEpoch {
		return nil
	}
	switch epoch := epochOf(stream.Records[0]); epoch {
	case next.epoch, unknownEpoch:
		return nil
	}
	return f.client.checkCut(ctx, f.topic, int(p.Partition), next)
}

// epochOf is the epoch of a batch of records.
func epochOf(batch protocol.RecordReader) int32 {
	switch b := batch.(type) {
	case *protocol.RecordBatch:
		return b.PartitionLeaderEpoch
	case *protocol.ControlBatch:
		return b.PartitionLeaderEpoch
	}
	return unknownEpoch
}

// traceOf returns the trace context in the headers of a record, "" for none.
func traceOf(headers []protocol.Header) string {
	for i := range headers {
		if headers[i].Key == transport.HeaderTrace {
			return string(headers[i].Value)
		}
	}
	return ""
}

// readBytes copies a key or a value, and releases its buffer.
func readBytes(b protocol.Bytes) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	defer func() { _ = b.Close() }() // always nil
	return protocol.ReadAll(b)
}
