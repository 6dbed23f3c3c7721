package cluster

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Impairment is what a network does to packets.
type Impairment struct {
	Delay, Jitter time.Duration
	Loss          float64 // share that is lost
}

// queue holds the packets that leave a network namespace (NFQUEUE) and decides on each in the order
// of their arrival. It does what netem does, on kernels without it, too.
type queue struct {
	socket int
	packet chan held
	ended  chan struct{} // closed by close
	all    sync.WaitGroup
}

// close ends the queue. The kernel drops what waits in it, as a reset network would.
func (q *queue) close() {
	close(q.ended)
	q.all.Wait()
	_ = unix.Close(q.socket)
}

func (q *queue) closed() bool {
	select {
	case <-q.ended:
		return true
	default:
		return false
	}
}

// held is a packet that waits.
type held struct {
	id    uint32
	until time.Time
	drop  bool
}

// Messages and attributes of the kernel's nfnetlink_queue.
const (
	queuePacket   = unix.NFNL_SUBSYS_QUEUE << 8
	queueVerdict  = unix.NFNL_SUBSYS_QUEUE<<8 | 1
	queueConfig   = unix.NFNL_SUBSYS_QUEUE<<8 | 2
	attrHeader    = 1 // of a packet: its id
	attrVerdict   = 2
	attrCommand   = 1 // of a configuration
	attrParams    = 2
	attrMaxLength = 3
)

// impair puts packets that leave the namespace of a process into a queue; end lets them pass.
func impair(ctx context.Context, pid int, i Impairment) (end func(), err error) {
	rule := func(what string) error {
		cmd := exec.CommandContext(context.WithoutCancel(ctx), "nsenter", "--target", strconv.Itoa(pid), "--net",
			"iptables", what, "OUTPUT", "!", "--out-interface", "lo", "--jump", "NFQUEUE", "--queue-num", "0",
			"--queue-bypass")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("queue packets of process %d: %w: %s", pid, err, out)
		}
		return nil
	}
	q := &queue{packet: make(chan held, 4096), ended: make(chan struct{})}
	if q.socket, err = listenIn(pid); err != nil {
		return nil, err
	}
	q.all.Go(func() { q.read(i) })
	q.all.Go(q.decide)
	if err := rule("--append"); err != nil {
		q.close()
		return nil, err
	}
	return func() {
		_ = rule("--delete") // the process may have ended, and its namespace with it
		q.close()
	}, nil
}

// listenIn opens the queue of a process's network namespace.
func listenIn(pid int) (socket int, err error) {
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		runtime.LockOSThread() // never unlocked: the thread ends with its namespace
		var ns int
		if ns, err = unix.Open(fmt.Sprintf("/proc/%d/ns/net", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return
		}
		defer func() { _ = unix.Close(ns) }()
		if err = unix.Setns(ns, unix.CLONE_NEWNET); err != nil {
			return
		}
		socket, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	}()
	<-opened
	if err != nil {
		return 0, fmt.Errorf("enter the network of process %d: %w", pid, err)
	}
	// So that the reader sees the end.
	timeout := unix.NsecToTimeval(int64(100 * time.Millisecond))
	err = unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout)
	for _, attr := range []struct {
		kind uint16
		data []byte
	}{
		{attrCommand, []byte{1, 0, 0, 0}},    // bind
		{attrParams, []byte{0, 0, 0, 0, 1}},  // no content
		{attrMaxLength, []byte{0, 0, 16, 0}}, // 4096 packets
	} {
		if err == nil {
			err = sendToKernel(socket, queueConfig, attr.kind, attr.data)
		}
	}
	if err != nil {
		_ = unix.Close(socket)
		return 0, fmt.Errorf("open a queue of packets: %w", err)
	}
	return socket, nil
}

// sendToKernel sends a message of nfnetlink for queue 0 with one attribute.
func sendToKernel(socket int, kind, attr uint16, data []byte) error {
	b := make([]byte, 0, 40)
	b = binary.NativeEndian.AppendUint32(b, 0) // its length, below
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST)
	b = append(b, make([]byte, 8+4)...) // sequence, port; family, version, queue
	b = binary.NativeEndian.AppendUint16(b, uint16(4+len(data)))
	b = binary.NativeEndian.AppendUint16(b, attr)
	b = append(b, data...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	return unix.Sendto(socket, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
}

// read takes packets until the socket is closed.
func (q *queue) read(i Impairment) {
	defer close(q.packet)
	buffer := make([]byte, 64<<10)
	var last time.Time
	for {
		n, _, err := unix.Recvfrom(q.socket, buffer, 0)
		if q.closed() {
			return
		}
		if err == unix.EAGAIN || err == unix.EINTR || err == unix.ENOBUFS {
			continue
		}
		if err != nil {
			return
		}
		for b := buffer[:n]; len(b) >= 20; {
			size := int(binary.NativeEndian.Uint32(b))
			if size < 20 || size > len(b) {
				break
			}
			if id, ok := packetID(b[:size]); ok {
				until := time.Now().Add(i.Delay)
				if i.Jitter > 0 {
					until = until.Add(rand.N(i.Jitter))
				}
				if until.Before(last) {
					until = last // packets keep their order
				}
				last = until
				q.packet <- held{id, until, rand.Float64() < i.Loss}
			}
			b = b[min((size+3)&^3, len(b)):]
		}
	}
}

// packetID finds the id in a message about a packet.
func packetID(b []byte) (id uint32, ok bool) {
	if binary.NativeEndian.Uint16(b[4:]) != queuePacket {
		return 0, false
	}
	for at := 20; at+8 <= len(b); {
		size := int(binary.NativeEndian.Uint16(b[at:]))
		if binary.NativeEndian.Uint16(b[at+2:])&0x3fff == attrHeader {
			return binary.BigEndian.Uint32(b[at+4:]), true
		}
		at += max(4, (size+3)&^3)
	}
	return 0, false
}

// decide lets packets pass when their time has come.
func (q *queue) decide() {
	for p := range q.packet {
		time.Sleep(time.Until(p.until))
		data := make([]byte, 8)
		if !p.drop {
			binary.BigEndian.PutUint32(data, 1)
		}
		binary.BigEndian.PutUint32(data[4:], p.id)
		_ = sendToKernel(q.socket, queueVerdict, attrVerdict, data)
	}
}
