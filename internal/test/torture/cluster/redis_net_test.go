package cluster

import (
	"io"
	"net"
	"testing"
)

// What a server says of the addresses of others names their proxies, in all forms that Redis has.
func TestRename(t *testing.T) {
	t.Parallel()
	server, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	const said = "-MOVED 3999 127.0.0.1:16381\r\n" +
		"*2\r\n$9\r\n127.0.0.1\r\n$5\r\n16381\r\n" +
		"*3\r\n$9\r\n127.0.0.1\r\n:16382\r\n$2\r\nid\r\n" +
		"*4\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n$4\r\nport\r\n$5\r\n26381\r\n" +
		"main 127.0.0.1 16381 127.0.0.1 16382\r\n" +
		"127.0.0.1:16389 16381\r\n"
	const want = "-MOVED 3999 127.0.0.1:21001\r\n" +
		"*2\r\n$9\r\n127.0.0.1\r\n$5\r\n21001\r\n" +
		"*3\r\n$9\r\n127.0.0.1\r\n:21002\r\n$2\r\nid\r\n" +
		"*4\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n$4\r\nport\r\n$5\r\n21003\r\n" +
		"main 127.0.0.1 21001 127.0.0.1 21002\r\n" +
		"127.0.0.1:16389 16381\r\n"
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, said)
		_ = conn.Close()
	}()
	p, err := Listen(t.Context(), server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if err := p.Rename(map[string]string{"127.0.0.1:6379": "127.0.0.1:21001"}); err == nil {
		t.Error("a port of four digits was renamed")
	}
	if err := p.Rename(map[string]string{
		"127.0.0.1:16381": "127.0.0.1:21001", "127.0.0.1:16382": "127.0.0.1:21002",
		"127.0.0.1:26381": "127.0.0.1:21003",
	}); err != nil {
		t.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if got, err := io.ReadAll(conn); string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
