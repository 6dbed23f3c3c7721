package backendtest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/segmentio/kafka-go"

	"github.com/scoreboard/scoreboard/server/devstack/process"
)

// KafkaOptions configure an Apache Kafka broker.
type KafkaOptions struct {
	Dir   string // created if missing; holds the data, the configuration and the log
	Ports [2]int // for clients and for the controller; 0: a free one
	// Advertised is the address that clients are told to connect to, such as that of
	// a proxy; empty: the broker's own.
	Advertised string
	// Controllers are the controller ports of all brokers of the cluster, this one's
	// at index Node; empty: this broker is alone. All must start at the same time.
	Controllers []int
	Node        int
}

// KafkaBroker is a running Apache Kafka in KRaft mode, a child of this process.
type KafkaBroker struct {
	*process.Process
	Brokers []string
	Ports   [2]int
}

// Each node is broker and controller. The settings are Kafka's defaults, except those
// that the number of nodes requires and two delays: the wait for more group members before
// the first assignment (by default three seconds in every test), and the session of a
// killed broker, which must expire before the broker can return (nine seconds).
const kafkaProperties = `process.roles=broker,controller
node.id=%[4]d
controller.quorum.voters=%[5]s
listeners=PLAINTEXT://127.0.0.1:%[1]d,CONTROLLER://127.0.0.1:%[2]d
advertised.listeners=PLAINTEXT://%[3]s
controller.listener.names=CONTROLLER
log.dirs=data
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=2000
offsets.topic.num.partitions=4
default.replication.factor=%[6]d
min.insync.replicas=%[7]d
offsets.topic.replication.factor=%[6]d
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=%[6]d
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=%[6]d
share.coordinator.state.topic.min.isr=1
log.cleaner.dedupe.buffer.size=4194304
num.network.threads=2
num.io.threads=4
`

// kafkaClusterID is an arbitrary valid id: each broker is its own cluster.
const kafkaClusterID = "c2NvcmVib2FyZC10ZXN0cw"

// StartKafka starts a broker on the data in o.Dir, which it formats if it is empty,
// and returns when the broker is ready, after about three seconds.
func StartKafka(ctx context.Context, o KafkaOptions) (*KafkaBroker, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("java: %w", ErrMissing)
	}
	libs, err := kafkaJars(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of Kafka: %w", err)
	}
	k := &KafkaBroker{Ports: o.Ports}
	for i := range k.Ports {
		if k.Ports[i] != 0 {
			continue
		}
		if k.Ports[i], err = process.FreePort(ctx); err != nil {
			return nil, err
		}
	}
	k.Brokers = []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(k.Ports[0]))}
	advertised := cmp.Or(o.Advertised, k.Brokers[0])
	controllers := o.Controllers
	if len(controllers) == 0 {
		controllers = k.Ports[1:]
	}
	voters := make([]string, len(controllers))
	for i, port := range controllers {
		voters[i] = fmt.Sprintf("%d@127.0.0.1:%d", i+1, port)
	}
	properties := fmt.Appendf(nil, kafkaProperties, k.Ports[0], k.Ports[1], advertised, o.Node+1,
		strings.Join(voters, ","), len(voters), (len(voters)+1)/2)
	if err := os.WriteFile(filepath.Join(o.Dir, "server.properties"), properties, 0o600); err != nil {
		return nil, fmt.Errorf("configure Kafka: %w", err)
	}
	classes := filepath.Join(libs, "*")
	if !isDir(filepath.Join(o.Dir, "data")) {
		format := exec.CommandContext(ctx, java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classes,
			"kafka.tools.StorageTool", "format", "--cluster-id", kafkaClusterID, "--config", "server.properties")
		format.Dir = o.Dir
		out, err := format.CombinedOutput()
		if bytes.Contains(out, []byte("UnsupportedClassVersionError")) {
			return nil, fmt.Errorf("java 17 or later: %w (%s is older)", ErrMissing, java)
		}
		if err != nil {
			return nil, fmt.Errorf("format the data of Kafka: %w: %s", err, out)
		}
	}
	k.Process, err = process.Start(ctx, process.Options{
		Name:   "Kafka",
		Path:   java,
		Args:   []string{"-Xmx512m", "-XX:+UseSerialGC", "-cp", classes, "kafka.Kafka", "server.properties"},
		Env:    os.Environ(),
		Dir:    o.Dir,
		Log:    filepath.Join(o.Dir, "kafka.log"),
		Lock:   filepath.Join(o.Dir, "kafka.lock"),
		Signal: syscall.SIGTERM,
	})
	if err != nil {
		return nil, err
	}
	if err := k.AwaitReady(ctx, k.answers); err != nil {
		k.Kill()
		return nil, err
	}
	return k, nil
}

// answers checks that the broker has joined the cluster: the port opens earlier.
func (k *KafkaBroker) answers(ctx context.Context) error {
	conn, err := kafka.DialContext(ctx, "tcp", k.Brokers[0])
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	brokers, err := conn.Brokers()
	if err == nil && len(brokers) == 0 {
		err = fmt.Errorf("the broker has not joined its cluster")
	}
	return err
}
