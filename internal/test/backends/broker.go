package backends

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

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
	// Secure adds listeners that require TLS or authentication; nil: none.
	Secure *KafkaSecurity
}

// KafkaSecurity are further listeners of a broker, at localhost: SSL requires a client
// certificate; SASL_SSL and SASL_PLAINTEXT require the user, by PLAIN or SCRAM-SHA-512,
// except that SASL_PLAINTEXT has only SCRAM.
type KafkaSecurity struct {
	CA, Cert, Key  []byte // PEM; the key is PKCS #8
	User, Password string
	Ports          map[string]int // by the listener's name; set by StartKafka, which keeps those that are set
}

const kafkaSecurity = `ssl.keystore.type=PEM
ssl.keystore.location=keystore.pem
ssl.truststore.type=PEM
ssl.truststore.location=truststore.pem
listener.name.ssl.ssl.client.auth=required
listener.name.sasl_ssl.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.sasl_ssl.plain.sasl.jaas.config=` +
	`org.apache.kafka.common.security.plain.PlainLoginModule required user_%[1]s="%[2]s";
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=` +
	`org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_plaintext.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config=` +
	`org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL,` +
	`SASL_SSL:SASL_SSL,SASL_PLAINTEXT:SASL_PLAINTEXT
`

// apply writes the files, and adds the listeners to the properties of a broker.
func (s *KafkaSecurity) apply(ctx context.Context, dir string, properties []byte) ([]byte, error) {
	if s.Ports == nil {
		s.Ports = make(map[string]int)
	}
	var listeners strings.Builder
	for _, name := range []string{"SSL", "SASL_SSL", "SASL_PLAINTEXT"} {
		if s.Ports[name] == 0 {
			port, err := process.FreePort(ctx)
			if err != nil {
				return nil, err
			}
			s.Ports[name] = port
		}
		fmt.Fprintf(&listeners, ",%s://localhost:%d", name, s.Ports[name])
	}
	for name, text := range map[string][]byte{
		"keystore.pem": slices.Concat(s.Key, s.Cert), "truststore.pem": s.CA,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, fmt.Errorf("configure Kafka: %w", err)
		}
	}
	all := regexp.MustCompile(`(?m)^(advertised\.)?listeners=.*$`).ReplaceAllString(string(properties),
		"${0}"+listeners.String())
	return fmt.Appendf([]byte(all), kafkaSecurity, s.User, s.Password), nil
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

// kafkaQuorum is added for nodes that elect a controller. While they start at once on few processors, they
// answer each other late, and elections and sessions of one and two seconds would fail again and again.
const kafkaQuorum = `controller.quorum.election.timeout.ms=4000
controller.quorum.fetch.timeout.ms=6000
broker.session.timeout.ms=4000
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
	libs, err := KafkaJars(ctx)
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
	// The second compiler takes a fifth of two cores for a minute and does not pay for itself
	// afterwards (docs/benchmarks.md).
	limit, options := time.Minute, []string{"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}
	if len(voters) > 1 {
		properties = append(properties, kafkaQuorum...)
		limit, options[0] = 3*time.Minute, "-Xmx256m"
	}
	if o.Secure != nil {
		if properties, err = o.Secure.apply(ctx, o.Dir, properties); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "server.properties"), properties, 0o600); err != nil {
		return nil, fmt.Errorf("configure Kafka: %w", err)
	}
	classes := filepath.Join(libs, "*")
	if !isDir(filepath.Join(o.Dir, "data")) {
		args := []string{
			"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classes,
			"kafka.tools.StorageTool", "format", "--cluster-id", kafkaClusterID, "--config", "server.properties",
		}
		if s := o.Secure; s != nil {
			args = append(args, "--add-scram", fmt.Sprintf("SCRAM-SHA-512=[name=%s,password=%s]", s.User, s.Password))
		}
		format := exec.CommandContext(ctx, java, args...)
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
		Args:   append(options, "-cp", classes, "kafka.Kafka", "server.properties"),
		Env:    os.Environ(),
		Dir:    o.Dir,
		Log:    filepath.Join(o.Dir, "kafka.log"),
		Lock:   filepath.Join(o.Dir, "kafka.lock"),
		Signal: syscall.SIGTERM,
	})
	if err != nil {
		return nil, err
	}
	if err := k.AwaitReadyWithin(ctx, limit, k.answers); err != nil {
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
