package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// Make makes the report of a record, or of the records of all generators that
// shared a run. All hits go into the same histograms, because the percentiles of
// the parts do not give those of the whole.
func Make(records ...io.ReadSeeker) (*Report, *Builder, error) {
	headers := make([]record.Header, len(records))
	for i, in := range records {
		var err error
		if headers[i], err = record.ReadHeader(in); err != nil {
			return nil, nil, err
		}
	}
	b, err := merge(headers)
	if err != nil {
		return nil, nil, err
	}
	for i, in := range records {
		if err := b.add(in, headers[i]); err != nil {
			return nil, nil, err
		}
	}
	if apart := b.header.Duration - headers[0].Duration; apart > 0 && b.ending != nil {
		b.ending.Notes = append(
			b.ending.Notes,
			fmt.Sprintf("the generators started %v apart; rates are over the time of all of them",
				apart.Round(time.Millisecond)),
		)
	}
	r, err := b.Report()
	return r, b, err
}

// merge starts the report of the records of one run.
func merge(headers []record.Header) (*Builder, error) {
	first := slices.MinFunc(headers, func(a, b record.Header) int { return a.Began.Compare(b.Began) })
	seen := map[int]bool{}
	whole := first
	whole.Scheduled = slices.Clone(first.Scheduled)
	for i, h := range headers {
		if len(headers) > 1 && (h.Shard.Of < 2 || h.Shard.Of != first.Shard.Of) {
			return nil, fmt.Errorf("record %d is shard %s: only shards of the same run can be combined", i+1, h.Shard)
		}
		if seen[h.Shard.No] {
			return nil, fmt.Errorf("duplicate shard %s", h.Shard)
		}
		seen[h.Shard.No] = true
		if !slices.Equal(h.Checks, first.Checks) || h.Profile != first.Profile || h.Scaled != first.Scaled {
			return nil, fmt.Errorf("shards %s and %s have different criteria", h.Shard, first.Shard)
		}
		offset := h.Began.Sub(first.Began)
		whole.Duration = max(whole.Duration, offset+h.Duration)
		if h.Shard == first.Shard {
			continue
		}
		for s, n := range h.Scheduled {
			at := s + int(offset/time.Second)
			for len(whole.Scheduled) <= at {
				whole.Scheduled = append(whole.Scheduled, 0)
			}
			whole.Scheduled[at] += n
		}
	}
	b := NewBuilder(whole)
	b.shards = len(headers)
	return b, nil
}

// add adds the entries of a record, shifted by its start.
func (b *Builder) add(in io.Reader, h record.Header) error {
	offset := h.Began.Sub(b.header.Began)
	ended := false
	err := record.Visit(in, record.Visitor{
		Header: func(record.Header) {},
		Hit: func(h record.Hit) {
			h.Scheduled += offset
			b.Hit(h)
		},
		Sample: func(s record.Sample) {
			s.At += offset
			b.Sample(s)
		},
		Tick: func(t record.Tick) {
			t.At += offset
			b.Tick(t)
		},
		Ending: func(e record.Ending) {
			e.Lasted += offset
			ended = true
			b.end(e, h.Shard)
		},
	})
	if err == nil && !ended && b.shards > 1 {
		b.end(record.Ending{Lasted: b.played, Cut: true, Notes: []string{"its record has no ending"}}, h.Shard)
	}
	return err
}

// end combines the endings of records.
func (b *Builder) end(e record.Ending, s record.Shard) {
	if b.shards > 1 {
		for i, note := range e.Notes {
			e.Notes[i] = "shard " + strconv.Itoa(s.No) + ": " + note
		}
	}
	if b.ending == nil {
		b.Ending(e)
		return
	}
	b.ending.Lasted, b.ending.Cut = max(b.ending.Lasted, e.Lasted), b.ending.Cut || e.Cut
	b.ending.Notes = append(b.ending.Notes, e.Notes...)
	for name, reason := range e.Skipped {
		if b.ending.Skipped == nil {
			b.ending.Skipped = map[string]string{}
		}
		b.ending.Skipped[name] = reason
	}
	both := record.Measured{}
	for name, v := range e.Measured {
		if old, ok := b.ending.Measured[name]; ok {
			both[name] = criteria.Combine(name, old, v)
		}
	}
	// What one of them did not measure is unknown for the whole, except for shares of
	// requests that only some of them sent.
	for _, m := range []record.Measured{b.ending.Measured, e.Measured} {
		for name, v := range m {
			if _, ok := both[name]; !ok && criteria.IsShare(name) {
				both[name] = v
			}
		}
	}
	b.ending.Measured = both
}

// shares describes which part of the generators is included.
func (b *Builder) shares() string {
	if b.header.Shard.Of < 2 {
		return ""
	}
	return fmt.Sprintf("%d of %d", b.shards, b.header.Shard.Of)
}
