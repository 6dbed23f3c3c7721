package main

import (
	"runtime"
	"testing"
)

func TestIdleProcessReturnsMemory(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, c := range []struct {
		name         string
		earlier, now heap
		want         bool
	}{
		{"little garbage", heap{cycles: 7}, heap{alive: 70 * mib, used: 100 * mib, free: 20 * mib, cycles: 7}, false},
		{"garbage of a rush", heap{cycles: 7}, heap{alive: 70 * mib, used: 220 * mib, cycles: 7}, true},
		{"free memory of a rush", heap{}, heap{alive: 70 * mib, used: 71 * mib, free: 60 * mib}, true},
		{"busy: it collects by itself", heap{cycles: 7}, heap{alive: 20 * mib, used: 80 * mib, cycles: 8}, false},
		{"less used than alive", heap{}, heap{alive: 70 * mib, used: 60 * mib}, false},
		{"a small process", heap{}, heap{alive: mib, used: 16 * mib}, false},
	} {
		if got := c.now.isIdle(c.earlier); got != c.want {
			t.Errorf("%s: got %t", c.name, got)
		}
	}
	runtime.GC()
	if h := readHeap(); h.alive == 0 || h.used == 0 || h.cycles == 0 {
		t.Errorf("the state of the heap is not read: %+v", h)
	}
}
