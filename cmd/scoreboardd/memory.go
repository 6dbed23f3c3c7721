package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// gcPercent replaces Go's default of 100 unless GOGC is set: the live heap is
// small and most garbage is per request, so collecting less often costs little
// memory.
const gcPercent = 300

const (
	memoryInterval = 10 * time.Second
	// memorySlack is how much garbage and free memory may stay, besides half of what is
	// alive.
	memorySlack = 16 << 20
)

// heap is the state of the heap, in bytes.
type heap struct {
	alive  uint64 // after the last collection
	used   uint64 // alive, and garbage since then
	free   uint64 // held for later
	cycles uint64 // collections so far
}

func readHeap() heap {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(samples)
	return heap{
		samples[0].Value.Uint64(), samples[1].Value.Uint64(), samples[2].Value.Uint64(), samples[3].Value.Uint64(),
	}
}

// isIdle reports whether little has been allocated since an earlier state, and much
// memory is held that nothing uses: a rush has left it, and with gcPercent it would stay
// until four times the live heap is in use.
func (h heap) isIdle(earlier heap) bool {
	unused := h.free
	if h.used > h.alive {
		unused += h.used - h.alive
	}
	return h.cycles == earlier.cycles && unused > h.alive/2+memorySlack
}

// returnMemory gives unused memory back to the system when the process is idle, until ctx
// ends.
func returnMemory(ctx context.Context) {
	tick := time.NewTicker(memoryInterval)
	defer tick.Stop()
	for earlier := readHeap(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := readHeap()
		if now.isIdle(earlier) {
			debug.FreeOSMemory()
			now = readHeap()
		}
		earlier = now
	}
}
