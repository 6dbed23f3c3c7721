// Command scorebench measures scoreboard on an installation of its own: PostgreSQL,
// Redis and Apache Kafka as child processes, the daemon as another, and a load
// generator in front. It prints figures as Markdown, with the machine and the
// commit; it does not compare them with limits.
//
// Each exported function that takes Options is one bench. With Options.Quick it
// runs with tiny sizes, to test the bench itself.
package main
