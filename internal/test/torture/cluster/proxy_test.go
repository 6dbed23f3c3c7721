package cluster

import (
	"io"
	"net"
	"testing"
	"time"
)

// While answers are swallowed the server gets requests, and the client nothing. After the
// reset new connections work.
func TestSwallowedAnswers(t *testing.T) {
	t.Parallel()
	server, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	requests := make(chan string, 10)
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				for request := make([]byte, 1); ; {
					if _, err := io.ReadFull(conn, request); err != nil {
						return
					}
					requests <- string(request)
					_, _ = conn.Write(request)
				}
			}()
		}
	}()
	p, err := Listen(t.Context(), server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	dial := func() net.Conn {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	send := func(conn net.Conn, request string) {
		t.Helper()
		if _, err := conn.Write([]byte(request)); err != nil {
			t.Fatal(err)
		}
		if got := <-requests; got != request {
			t.Errorf("the server got %q, want %q", got, request)
		}
	}
	answered := func(conn net.Conn) error {
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, err := io.ReadFull(conn, make([]byte, 1))
		return err
	}
	conn := dial()
	send(conn, "a")
	if err := answered(conn); err != nil {
		t.Error(err)
	}
	p.Set(Fault{Swallow: true})
	send(conn, "b")
	waiting := make(chan error, 1)
	go func() { waiting <- answered(conn) }()
	send(conn, "c")
	p.Reset()
	p.Set(Fault{})
	if err := <-waiting; err == nil {
		t.Error("an answer arrived")
	}
	conn = dial()
	send(conn, "d")
	if err := answered(conn); err != nil {
		t.Error(err)
	}
}
