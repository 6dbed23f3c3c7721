// Package backendtest gives tests real backends: PostgreSQL, Redis and Apache
// Kafka, isolated from every other test.
//
//	url := backendtest.Postgres(t, migrations.Up) // a database of its own
//	url := backendtest.Redis(t)                   // a server of its own
//	brokers := backendtest.Kafka(t)               // the shared broker
//	topic := backendtest.Prefix(t) + "scores"     // removed after the test
//
// RedisClient and Connect open a client of such a Redis and a connection to such a
// database, which close after the test.
//
// PostgreSQL and Kafka are shared: those named by SCOREBOARD_TEST_POSTGRES_URL
// and SCOREBOARD_TEST_KAFKA_BROKERS (the program in with/ starts them once for
// many packages), else started by the first test of the process that asks, on
// a RAM disk, and gone with the process. With SCOREBOARD_TEST_KAFKA=kfake the
// stand-in of the development stack takes Kafka's place.
//
// Tests that stop, restart or kill a backend take one of their own:
// OwnPostgres, OwnRedis, OwnKafka.
//
// A backend that is not to be had skips the test with one loud line, and
// fails it where CI=true.
package backendtest
