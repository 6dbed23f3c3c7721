package kafka_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/internal/tlsfiles"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/transporttest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// secured is a broker whose listeners require TLS or authentication.
type secured struct {
	broker *backends.KafkaServer
	ports  map[string]int
	files  map[string]tlsfiles.Files // by their owner
}

const saslUser = "ada"

func newSecured(t *testing.T) *secured {
	t.Helper()
	ca, other := fixtures.IssueCertificate(t, "ca", nil), fixtures.IssueCertificate(t, "other", nil)
	own := fixtures.IssueCertificate(t, "localhost", ca)
	security := &backends.KafkaSecurity{
		CA: ca.CertPEM, Cert: own.CertPEM, Key: own.KeyPEM, User: saslUser, Password: "scram-and-plain",
		Ports: make(map[string]int),
	}
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s := &secured{ports: security.Ports, files: map[string]tlsfiles.Files{"nobody": {}}}
	caFile := write("ca.pem", ca.CertPEM)
	s.files["anonymous"] = tlsfiles.Files{CA: caFile}
	for name, by := range map[string]*fixtures.CertificatePair{"client": ca, "foreigner": other} {
		pair := fixtures.IssueCertificate(t, name, by)
		s.files[name] = tlsfiles.Files{
			CA: caFile, Cert: write(name+".pem", pair.CertPEM), Key: write(name+".key", pair.KeyPEM),
		}
	}
	s.broker = backends.OwnSecureKafka(t, security)
	s.ports["PLAINTEXT"], _ = strconv.Atoi(strings.Split(s.broker.Brokers[0], ":")[1])
	return s
}

// connect returns a client of a listener. owner has the files for TLS; "" does without.
func (s *secured) connect(t *testing.T, listener, who, mechanism, password string) *kafka.Client {
	t.Helper()
	host := "localhost"
	if listener == "PLAINTEXT" {
		host = "127.0.0.1"
	}
	o := kafka.Options{
		Brokers: []string{net.JoinHostPort(host, strconv.Itoa(s.ports[listener]))},
		Timeout: 5 * time.Second, Compression: "lz4", Acks: "all",
	}
	var err error
	if who != "" {
		if o.TLS, err = tlsfiles.New("kafka.tls", s.files[who], slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	if mechanism != "" {
		if o.SASL, err = kafka.NewSASL(mechanism, saslUser, password); err != nil {
			t.Fatal(err)
		}
	}
	c := kafka.New(o)
	t.Cleanup(c.Close)
	return c
}

// Everything works over listeners that require TLS, a client certificate or a password,
// and a wrong setting is named.
func TestSecuredBroker(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	const password = "scram-and-plain"
	for _, c := range [][3]string{ // listener, files, mechanism
		{"SSL", "client", ""},
		{"SASL_SSL", "anonymous", "plain"},
		{"SASL_SSL", "client", "scram-sha-512"},
		{"SASL_PLAINTEXT", "", "scram-sha-512"},
	} {
		t.Run(c[0]+" "+c[2], func(t *testing.T) {
			k := s.connect(t, c[0], c[1], c[2], password)
			topic := kafka.Topic{
				Name: "events-" + c[0] + "-" + c[2], Partitions: 2, Retention: time.Hour, Replicas: 1,
			}
			transporttest.Until(t, "the topic created", func() bool {
				_, err := k.Ensure(t.Context(), topic)
				return err == nil
			})
			p := k.Producer(topic.Name)
			t.Cleanup(func() { _ = p.Close() })
			events := transport.NewEvents(p)
			transporttest.Until(t, "published", func() bool {
				n, err := events.Publish(t.Context(), transporttest.Events(0, 20))
				return err == nil && n == 20
			})
			got := transporttest.NewReceived()
			consumer := k.Consumer(topic.Name, "group-"+topic.Name, 50, transporttest.Quiet)
			transporttest.Consume(t, consumer, got.Handle)
			transporttest.Until(t, "delivered", func() bool { return got.Users() == 20 })
			transporttest.Until(t, "the topic's id known", func() bool { return consumer.Intact(t.Context()) })
			if err := k.Ping(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	const closed = "a broker closed the connection without an answer: set it if the broker requires SASL"
	const rejects = "kafka.tls_cert: the server rejects this client"
	for name, c := range map[string]struct {
		listener, who, mechanism, password, want string
	}{
		"wrong password by SCRAM": {
			"SASL_SSL", "anonymous", "scram-sha-512", "s3cret-guess", "kafka.sasl_password: the brokers reject it",
		},
		"wrong password by PLAIN": {
			"SASL_SSL", "anonymous", "plain", "s3cret-guess", "kafka.sasl_password: the brokers reject it",
		},
		"SASL required": {"SASL_PLAINTEXT", "", "", "", "kafka.sasl: " + closed + ", and kafka.tls"},
		"SASL over TLS": {"SASL_SSL", "anonymous", "", "", "kafka.sasl: " + closed},
		"SASL not used": {"PLAINTEXT", "", "plain", password, "kafka.sasl: the brokers do not use SASL"},
		"another mechanism": {
			"SASL_PLAINTEXT", "", "plain", password, "kafka.sasl: the brokers do not offer plain",
		},
		"TLS required": {"SSL", "", "", "", "kafka.sasl: " + closed + ", and kafka.tls"},
		"TLS not used": {"PLAINTEXT", "anonymous", "", "", "kafka.tls: the server's port does not use TLS"},
		"unknown authority": {
			"SSL", "nobody", "", "", "kafka.tls_ca: the server's certificate is signed by an unknown authority",
		},
		"no client certificate": {"SSL", "anonymous", "", "", rejects},
		"foreign certificate":   {"SSL", "foreigner", "", "", rejects},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			err := s.connect(t, c.listener, c.who, c.mechanism, c.password).Ping(ctx)
			var setup *scoreboard.SetupError
			if !errors.As(err, &setup) || !strings.HasPrefix(setup.Error(), c.want) ||
				strings.Contains(err.Error(), "\n") || c.password != "" && strings.Contains(err.Error(), c.password) {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
		})
	}
}
