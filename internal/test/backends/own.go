package backends

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/devstack"
	"github.com/scoreboard/scoreboard/server/devstack/process"
)

const ownTimeout = 30 * time.Second

// Server is a backend that only one test uses, which may stop, kill and restart it.
// It keeps its address and its data, and is stopped after the test.
type Server struct {
	t       testing.TB
	name    string
	start   func(context.Context) (*process.Process, error)
	mu      sync.Mutex
	process *process.Process // nil while it is down
}

// Start restarts the server and returns when it is ready.
func (s *Server) Start() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.t.Fatalf("start %s: already running", s.name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), ownTimeout)
	defer cancel()
	p, err := s.start(ctx)
	require(s.t, s.name, err)
	s.process = p
}

// Stop shuts the server down gracefully.
func (s *Server) Stop() {
	s.t.Helper()
	if p := s.take(); p != nil {
		ctx, cancel := context.WithTimeout(context.Background(), ownTimeout)
		defer cancel()
		if err := p.Stop(ctx); err != nil {
			s.t.Errorf("stop %s: %v", s.name, err)
		}
	}
}

// Kill ends the server without cleanup, like a power failure.
func (s *Server) Kill() {
	if p := s.take(); p != nil {
		p.Kill()
	}
}

// Hang suspends the server: its connections stay open, but it does not answer until
// resume is called or the test ends.
func (s *Server) Hang() (resume func()) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	pid := s.process.PID()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
	resume = func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
	s.t.Cleanup(resume) // a suspended process cannot shut down
	return resume
}

// Running reports whether the server was started and neither stopped nor killed since.
func (s *Server) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process != nil
}

func (s *Server) take() *process.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.process
	s.process = nil
	return p
}

// newServer creates the server's folder, starts it, and stops it after the test.
func newServer(
	t testing.TB,
	name string,
	start func(ctx context.Context, dir string) (*process.Process, error),
) *Server {
	t.Helper()
	dir, remove, err := process.TempDir("scoreboard-test-")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, name: name, start: func(ctx context.Context) (*process.Process, error) {
		return start(ctx, dir)
	}}
	t.Cleanup(func() {
		s.Stop()
		if err := remove(); err != nil {
			t.Error(err)
		}
	})
	s.Start()
	return s
}

// RedisServer is a Redis that only one test uses.
type RedisServer struct {
	*Server
	URL  string
	Port int
}

// Redis returns the URL of a Redis server that only this test uses, so it may run
// FLUSHALL.
func Redis(t testing.TB) string {
	t.Helper()
	return OwnRedis(t).URL
}

// OwnRedis starts a Redis that the test may stop and start. A stop loses no data, a
// kill at most the last second.
func OwnRedis(t testing.TB) *RedisServer {
	t.Helper()
	return ownRedis(t, devstack.RedisOptions{})
}

// Replica starts a Redis that follows r. It has the same password.
func (r *RedisServer) Replica() *RedisServer {
	r.t.Helper()
	u, err := url.Parse(r.URL)
	if err != nil { // it comes from this package
		panic(err)
	}
	password, _ := u.User.Password()
	// Otherwise the primary waits 5 s for further replicas before it sends its data.
	rdb := RedisClient(r.t, r.URL)
	if err := rdb.ConfigSet(r.t.Context(), "repl-diskless-sync-delay", "0").Err(); err != nil {
		r.t.Fatal(err)
	}
	return ownRedis(r.t, devstack.RedisOptions{Password: password, Config: []string{
		"replicaof 127.0.0.1 " + strconv.Itoa(r.Port), "masterauth " + password,
	}})
}

// ownRedis starts a Redis, whose Dir and Port are chosen here.
func ownRedis(t testing.TB, o devstack.RedisOptions) *RedisServer {
	t.Helper()
	r := new(RedisServer)
	r.Server = newServer(t, "Redis", func(ctx context.Context, dir string) (*process.Process, error) {
		o.Dir = dir
		redis, err := devstack.StartRedis(ctx, o)
		if err != nil {
			return nil, err
		}
		o.Port, r.Port, r.URL = redis.Port, redis.Port, redis.URL()
		return redis.Process, nil
	})
	return r
}

// PostgresServer is a PostgreSQL that only one test uses.
type PostgresServer struct {
	*Server
	URL string // of its database, which is migrated, for the daemon's role

	running *devstack.Postgres // the last one that was started
}

// Standby starts a copy of the server that follows it by streaming replication. Neither
// waits for the other.
func (p *PostgresServer) Standby() *PostgresServer {
	t := p.t
	t.Helper()
	s, port := new(PostgresServer), 0
	s.Server = newServer(t, "a standby of PostgreSQL", func(ctx context.Context, dir string) (*process.Process, error) {
		if _, err := os.Stat(filepath.Join(dir, "postgres")); err != nil {
			if err := p.running.CopyAsStandby(ctx, filepath.Join(dir, "postgres")); err != nil {
				return nil, err
			}
		}
		var err error
		if s.running, err = startPostgres(ctx, dir, port, nil); err != nil {
			return nil, err
		}
		port = s.running.Port
		return s.running.Process, nil
	})
	s.URL = strings.Replace(p.URL, ":"+strconv.Itoa(p.running.Port)+"/", ":"+strconv.Itoa(port)+"/", 1)
	noteOwner(s.running.URL("scoreboard"))
	return s
}

// OwnPostgres starts a PostgreSQL that the test may stop and start.
func OwnPostgres(t testing.TB, migrate Migrate) *PostgresServer {
	t.Helper()
	return ownPostgres(t, migrate, nil)
}

// ServerFiles are the contents of a server's PEM files. The key is PKCS #8.
type ServerFiles struct{ CA, Cert, Key []byte }

// write writes the files to a folder, which it creates if it is missing.
func (f *ServerFiles) write(dir string) (ca, cert, key string, err error) {
	if err = os.MkdirAll(dir, 0o700); err != nil {
		return "", "", "", err
	}
	paths := [3]string{}
	for i, text := range [][]byte{f.CA, f.Cert, f.Key} {
		paths[i] = filepath.Join(dir, []string{"ca.pem", "cert.pem", "key.pem"}[i])
		if err = os.WriteFile(paths[i], text, 0o600); err != nil {
			return "", "", "", err
		}
	}
	return paths[0], paths[1], paths[2], nil
}

// hbaSecure lets the daemon's role connect by TLS with a client certificate only.
const hbaSecure = "hostssl all " + runtimeRole + " all scram-sha-256 clientcert=verify-ca\n" +
	"host all " + runtimeRole + " all reject\nhost all all all scram-sha-256\n"

// OwnSecurePostgres is OwnPostgres for a server at localhost that requires TLS and a client
// certificate of the daemon's role.
func OwnSecurePostgres(t testing.TB, migrate Migrate, files *ServerFiles) *PostgresServer {
	t.Helper()
	p := ownPostgres(t, migrate, files)
	p.URL = strings.Replace(p.URL, "@127.0.0.1:", "@localhost:", 1)
	return p
}

// OwnSecureRedis is OwnRedis for a server whose port for TLS, at localhost, requires a
// client certificate.
func OwnSecureRedis(t testing.TB, files *ServerFiles) *RedisServer {
	t.Helper()
	port, config := redisTLS(t, files)
	r := ownRedis(t, devstack.RedisOptions{Config: config})
	r.URL = strings.Replace(strings.Replace(r.URL, "redis://", "rediss://", 1),
		"127.0.0.1:"+strconv.Itoa(r.Port), "localhost:"+strconv.Itoa(port), 1)
	return r
}

// redisTLS chooses a port for TLS, and returns it with the configuration of the server.
func redisTLS(t testing.TB, files *ServerFiles) (port int, config []string) {
	t.Helper()
	port, err := process.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ca, cert, key, err := files.write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return port, []string{
		"tls-port " + strconv.Itoa(port), "tls-ca-cert-file " + ca, "tls-cert-file " + cert, "tls-key-file " + key,
	}
}

func ownPostgres(t testing.TB, migrate Migrate, secure *ServerFiles) *PostgresServer {
	t.Helper()
	p := new(PostgresServer)
	port := 0
	p.Server = newServer(t, "PostgreSQL", func(ctx context.Context, dir string) (*process.Process, error) {
		var settings map[string]string
		if secure != nil {
			hba := filepath.Join(dir, "postgres", "hba.conf")
			ca, cert, key, err := secure.write(filepath.Join(dir, "postgres"))
			if err == nil {
				err = os.WriteFile(hba, []byte(hbaSecure), 0o600)
			}
			if err != nil {
				return nil, err
			}
			settings = map[string]string{
				"ssl": "on", "ssl_ca_file": ca, "ssl_cert_file": cert, "ssl_key_file": key, "hba_file": hba,
			}
		}
		postgres, err := startPostgres(ctx, dir, port, settings)
		if err != nil {
			return nil, err
		}
		port, p.running = postgres.Port, postgres
		if p.URL == "" {
			p.URL = postgres.URL("scoreboard")
			noteOwner(p.URL)
		}
		if err := postgres.EnsureDatabase(ctx, "scoreboard"); err != nil {
			postgres.Kill()
			return nil, err
		}
		return postgres.Process, nil
	})
	if migrate != nil {
		if err := migrate(t.Context(), p.URL); err != nil {
			t.Fatalf("migrate the test's own PostgreSQL: %v", err)
		}
		role, err := grant(t.Context(), p.URL)
		if err != nil {
			t.Fatalf("grant rights in the test's own PostgreSQL: %v", err)
		}
		p.URL = withRole(p.URL, role)
	}
	return p
}

// KafkaServer is an Apache Kafka that only one test uses.
type KafkaServer struct {
	*Server
	Brokers []string
	Data    string // folder with a folder for each partition
}

// OwnKafka starts an Apache Kafka that the test may stop and start. It takes
// about three seconds and 400 MB: use it only if the broker must fail.
func OwnKafka(t testing.TB) *KafkaServer {
	t.Helper()
	return OwnSecureKafka(t, nil)
}

// OwnSecureKafka is OwnKafka with further listeners.
func OwnSecureKafka(t testing.TB, secure *KafkaSecurity) *KafkaServer {
	t.Helper()
	k := new(KafkaServer)
	var ports [2]int
	k.Server = newServer(t, "Apache Kafka", func(ctx context.Context, dir string) (*process.Process, error) {
		broker, err := StartKafka(ctx, KafkaOptions{Dir: filepath.Join(dir, "kafka"), Ports: ports, Secure: secure})
		if err != nil {
			return nil, err
		}
		ports, k.Brokers, k.Data = broker.Ports, broker.Brokers, filepath.Join(dir, "kafka", "data")
		return broker.Process, nil
	})
	t.Cleanup(k.Kill) // a graceful stop takes seconds, and the data is not needed
	return k
}
