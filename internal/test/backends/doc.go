// Package backends gives tests real backends: PostgreSQL, Redis and Apache
// Kafka, isolated from every other test.
//
//	url := backends.Postgres(t, migrations.Up) // a new database
//	url := backends.Redis(t)                   // a new server
//	brokers := backends.Kafka(t)               // the shared broker
//	topic := backends.Prefix(t) + "scores"     // removed after the test
//
// RedisClient and Connect open connections that close after the test, and Run runs a
// component until then.
//
// PostgreSQL and Kafka are shared by all tests of a package, and Kafka by packages
// that run at the same time. SCOREBOARD_TEST_POSTGRES_URL and
// SCOREBOARD_TEST_KAFKA_BROKERS name running servers, which the program in with/
// starts once for many packages. Otherwise the first test that needs one starts it
// on a RAM disk, until the process ends. With SCOREBOARD_TEST_KAFKA=kfake, the
// stand-in of the development stack replaces Kafka. SCOREBOARD_TEST_POSTGRES=18 chooses the
// version of PostgreSQL, which is downloaded if it is not installed.
//
// Tests that stop, restart or kill a backend use a server that is not shared:
// OwnPostgres, OwnRedis, OwnKafka.
//
// A test whose backend is not installed is skipped with a message on stderr, and
// fails if CI=true.
package backends
