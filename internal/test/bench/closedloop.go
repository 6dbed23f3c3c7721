package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scoreboard/scoreboard/loadgen/codec"
)

// A closed loop sends the next request of a connection after the response to the
// previous one.

// loopResult is the result of a closed loop.
type loopResult struct {
	requests, errors int64
	refused          int64 // items of batches
	p50, p99         string
	took, cpu        time.Duration // cpu is that of the client
}

// postBodies posts the lines of a file, each once.
func (r *rig) postBodies(ctx context.Context, connections int, d time.Duration, path string) (*loopResult, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	return requestLoop(ctx, r.api, connections, d, func(b []byte) []byte {
		if !lines.Scan() {
			return nil
		}
		b = fmt.Appendf(b, "POST /v1/scores/increment HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"+
			"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", r.token, len(lines.Bytes()))
		return append(b, lines.Bytes()...)
	})
}

// getPaths reads the paths that path returns, one for each call.
func (r readBench) getPaths(
	ctx context.Context, connections int, d time.Duration, path func() string,
) (*loopResult, error) {
	return requestLoop(ctx, r.api, connections, d, func(b []byte) []byte {
		return fmt.Appendf(b, "GET %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n\r\n", path(), r.token)
	})
}

// requestLoop is the closed loop of package wire against the server at an address. next
// appends a request, or returns nil at the end; it is called from one goroutine at a time.
func requestLoop(
	ctx context.Context, address string, connections int, d time.Duration, next func([]byte) []byte,
) (*loopResult, error) {
	return readingLoop(ctx, address, connections, d, next, func(r io.Reader) (int64, error) {
		_, err := io.Copy(io.Discard, r)
		return 0, err
	})
}

// readingLoop is requestLoop with a function that reads the body of each response and returns how many
// items the server refused.
func readingLoop(
	ctx context.Context, address string, connections int, d time.Duration, next func([]byte) []byte,
	read func(io.Reader) (refused int64, err error),
) (*loopResult, error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	conns, err := codec.NewConns(base, 10*time.Second)
	if err != nil {
		return nil, err
	}
	defer conns.Close()
	result := &loopResult{}
	latency := hdrhistogram.New(1, time.Minute.Microseconds(), 3)
	var mu sync.Mutex // guards next, result and latency
	start, cpu := time.Now(), ownCPU()
	one := func() (more bool, err error) {
		x, err := conns.Get(ctx)
		if err != nil {
			return false, err
		}
		mu.Lock()
		request := next(x.Buf[:0])
		mu.Unlock()
		if request == nil {
			x.Release()
			return false, nil
		}
		x.Buf = request
		began := time.Now()
		status, body, err := x.Do(ctx)
		var refused int64
		if err == nil {
			refused, err = read(body)
			_ = body.Close()
		}
		mu.Lock()
		defer mu.Unlock()
		result.requests++
		if err != nil || status >= 400 {
			result.errors++
		} else {
			result.refused += refused
		}
		_ = latency.RecordValue(max(time.Since(began).Microseconds(), 1)) // the time-out is within its range
		return true, nil
	}
	errs := make(chan error, connections)
	for range connections {
		go func() {
			for time.Since(start) < d && ctx.Err() == nil {
				if more, err := one(); err != nil || !more {
					errs <- err
					return
				}
			}
			errs <- ctx.Err()
		}()
	}
	for range connections {
		if e := <-errs; err == nil {
			err = e
		}
	}
	ms := func(q float64) string { return fmt.Sprintf("%.3f", float64(latency.ValueAtQuantile(q))/1000) }
	result.took, result.cpu, result.p50, result.p99 = time.Since(start), ownCPU()-cpu, ms(50), ms(99)
	return result, err
}

// ownCPU is the CPU time of this process.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
