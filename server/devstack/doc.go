// Package devstack runs the backends of development, so that nothing needs to
// be installed: PostgreSQL and Redis as child processes, a Kafka broker inside
// this process.
//
// Promise: what was written survives a restart and a kill -9 of this process,
// after which no child is left (on Linux; elsewhere the next start names what
// is). A folder is used by one stack at a time. Where the real thing is not
// on the machine a stand-in takes its place, and Parts says so.
//
// Assumption: the backends listen on 127.0.0.1 alone, PostgreSQL and Redis
// behind random passwords that only the owner of the folder can read. The
// Kafka stand-in has no password; it runs nothing on anybody's behalf.
//
// Owner: who calls Start calls Stop. On failure of a child Died reports it;
// nothing is restarted, since a crash here is a bug to look at.
package devstack
