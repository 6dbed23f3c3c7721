package scoreboard

import (
	"time"
)

// Record is one record as a transport delivers it.
type Record struct {
	Topic     string // or the name of the stream
	Partition int
	Offset    int64
	Key       []byte
	Value     []byte
	Time      time.Time // when it was produced; zero where the transport does not store it
	Trace     string    // W3C traceparent of a sampled request; "" for none
	// LeaderEpoch is that of the leader that wrote it, where the transport has leaders: -1 if
	// it is not known.
	LeaderEpoch int32
}

// OffsetRange is the retained range of a partition: offsets from First up to but
// excluding End.
type OffsetRange struct {
	Partition  int
	First, End int64
	Trimmed    bool // records before First were deleted
}
