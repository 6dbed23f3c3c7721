package sources_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/sources"
)

// fakeRedis answers commands, by their names in lower case, with what is given for them.
func fakeRedis(t *testing.T, answers map[string]string) (url string) {
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
					name := strings.ToLower(command[0])
					answer, known := answers[name]
					switch {
					case name == "zcard" && strings.HasSuffix(command[1], ":ttl"):
						answer = ":0\r\n"
					case !known && name == "hello":
						answer = "-ERR unknown command\r\n"
					case !known:
						answer = "+OK\r\n"
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
	p, err := sources.OpenPodium(fakeRedis(t, map[string]string{
		"zcard": ":9000000000000000000\r\n",
		"zscan": "*2\r\n$1\r\n7\r\n*2\r\n$3\r\nann\r\n$1\r\n5\r\n",
	}), scoreboard.OrderHighest)
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

// A reply that is larger than memory, or claims to be, is an error: nothing is allocated for it, and nothing panics.
func TestHugeRepliesAreRejected(t *testing.T) {
	t.Parallel()
	page := func(records string) string { return "*2\r\n$1\r\n0\r\n" + records }
	for name, answer := range map[string]string{
		"a string beyond memory":   page("*2\r\n$9000000000000000000\r\nann\r\n$1\r\n5\r\n"),
		"a string of 100 GB":       page("*2\r\n$100000000000\r\nann\r\n$1\r\n5\r\n"),
		"an array beyond memory":   page("*9000000000000000000\r\n$3\r\nann\r\n"),
		"an array of 100 billion":  page("*100000000000\r\n$3\r\nann\r\n"),
		"arrays of arrays":         page(strings.Repeat("*1000000\r\n", 1000)),
		"a length that is no one":  page("*two\r\n"),
		"8 MiB in a line":          "+" + strings.Repeat("x", 8<<20) + "\r\n",
		"8 MiB in many members":    page("*1000000\r\n" + strings.Repeat("$3\r\nann\r\n$1\r\n5\r\n", 500_000)),
		"a map in the place of it": "%100000000000\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := sources.OpenPodium(fakeRedis(t, map[string]string{
				"zcard": ":1\r\n", "zscan": answer,
			}), scoreboard.OrderHighest)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close() })
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			records, err := p.Records(t.Context(), &sources.Board{ID: "kills", Order: scoreboard.OrderHighest})
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Errorf("got %d records", len(records))
			}
			if used := int64(after.Sys) - int64(before.Sys); used > 1<<30 {
				t.Errorf("%d MiB were taken from the system", used>>20)
			}
		})
	}
	// A page as large as they come is read.
	var members strings.Builder
	for i := range 10_000 {
		user := fmt.Sprintf("%s%06d", strings.Repeat("u", 50), i)
		fmt.Fprintf(&members, "$%d\r\n%s\r\n$4\r\n%d\r\n", len(user), user, 1000+i%1000)
	}
	p, err := sources.OpenPodium(fakeRedis(t, map[string]string{
		"zscan": page("*20000\r\n" + members.String()),
	}), scoreboard.OrderHighest)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	records, err := p.Records(t.Context(), &sources.Board{ID: "kills", Order: scoreboard.OrderHighest})
	if err != nil || len(records) != 10_000 {
		t.Errorf("a page of 10,000 members: got %d, %v", len(records), err)
	}
}

// fakePostgres lets everybody in, and answers each query with a message of some length, or rows without an end.
func fakePostgres(t *testing.T, answer func(io.Writer) error) (url string) {
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
				b := pgproto3.NewBackend(conn, conn)
				if _, err := b.ReceiveStartupMessage(); err != nil {
					return
				}
				b.Send(&pgproto3.AuthenticationOk{})
				b.Send(&pgproto3.BackendKeyData{SecretKey: []byte{0, 0, 0, 1}})
				b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
				if b.Flush() != nil {
					return
				}
				for {
					m, err := b.Receive()
					if err != nil {
						return
					}
					if _, last := m.(*pgproto3.Sync); !last {
						continue
					}
					if answer(conn) != nil {
						return
					}
				}
			}()
		}
	}()
	return "postgres://user:hunter2@" + l.Addr().String() + "/nakama?sslmode=disable"
}

// A row of a gigabyte is not read, and an error of the server does not contain the password.
func TestHugeRowsAreRejected(t *testing.T) {
	t.Parallel()
	n, err := sources.OpenNakama(t.Context(), fakePostgres(t, func(w io.Writer) error {
		_, err := w.Write([]byte{'D', 0x3f, 0xff, 0xff, 0xff})
		for err == nil {
			_, err = w.Write(make([]byte, 1<<20))
		}
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err = n.Boards(ctx, nil); err == nil || ctx.Err() != nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a row of a gigabyte: got %v, after the timeout: %v", err, ctx.Err())
	}
}
