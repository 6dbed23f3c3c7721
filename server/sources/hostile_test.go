package sources_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/sources"
)

// hostileRedis claims that a set has more members than memory can hold, and scans it without an end.
func hostileRedis(t *testing.T) (url string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				in := bufio.NewReader(conn)
				for {
					command, err := readCommand(in)
					if err != nil {
						return
					}
					answer := "+OK\r\n"
					switch strings.ToLower(command[0]) {
					case "hello":
						answer = "-ERR unknown command\r\n"
					case "zcard":
						answer = ":9000000000000000000\r\n"
						if strings.HasSuffix(command[1], ":ttl") {
							answer = ":0\r\n"
						}
					case "zscan":
						answer = "*2\r\n$1\r\n7\r\n*2\r\n$3\r\nann\r\n$1\r\n5\r\n"
					}
					if _, err := conn.Write([]byte(answer)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return "redis://" + l.Addr().String()
}

// readCommand reads an array of strings.
func readCommand(in *bufio.Reader) (command []string, err error) {
	line := func() (int, error) {
		text, err := in.ReadString('\n')
		if err != nil || len(text) < 3 {
			return 0, fmt.Errorf("%q: %w", text, err)
		}
		return strconv.Atoi(strings.TrimSpace(text[1:]))
	}
	n, err := line()
	for range n {
		var length int
		if length, err = line(); err != nil {
			return nil, err
		}
		text := make([]byte, length+2)
		if _, err = io.ReadFull(in, text); err != nil {
			return nil, err
		}
		command = append(command, string(text[:length]))
	}
	return command, err
}

// Whatever another server says of itself, reading its boards ends, in bounded memory.
func TestHostileServerIsNotBelieved(t *testing.T) {
	t.Parallel()
	p, err := sources.OpenPodium(hostileRedis(t), scoreboard.OrderHighest)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	boards, err := p.Boards(ctx, []string{"kills"})
	if err != nil || len(boards) != 1 {
		t.Fatalf("got %+v, %v", boards, err)
	}
	if _, err := p.Records(ctx, &boards[0]); err == nil || !strings.Contains(err.Error(), "again and again") {
		t.Errorf("an endless scan of a board with %d records: %v", boards[0].Records, err)
	}
}
