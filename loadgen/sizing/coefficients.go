package sizing

// Coefficient is a measured figure.
type Coefficient struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	Command string  `json:"command"`
	Commit  string  `json:"commit"`
	Date    string  `json:"date"`
}

// The coefficients, as indexes of the table.
type coefficient int

const (
	daemonCPU coefficient = iota
	relayShare
	projectorShare
	postgresCPU
	redisCPU
	kafkaCPU
	transaction
	perIncrement
	projection
	deliveryCPU
	connectionMemory
	redisUser
	postgresUser
	postgresUserBoard
	leaguePlayer
	ledgerRow
	outboxRow
	walBytes
	kafkaBytes
	requestBytes
	responseBytes
	frameBytes
	coefficients
)

// The CPU times are those of a slow day of the machine, with batches of 64 connections: larger
// batches cost less.
const (
	ingestBench = "scorebench ingest, 64 connections"
	bytesBench  = "scorebench bytes"
	recordBench = "go test ./server/store -bench Record"
	slowDay     = "2026-11-23"
	bytesDay    = "2026-11-24"
	bytesCommit = "c9691591"
)

var table = [coefficients]Coefficient{
	daemonCPU:  {"daemon, CPU per increment", 106, "µs", ingestBench, "7057648", slowDay},
	relayShare: {"of it the relay", 0.06, "", "/debug/pprof/profile, 256 connections", "12a818d", "2026-11-21"},
	projectorShare: {
		"of it the projection", 0.10, "", "/debug/pprof/profile, 256 connections", "12a818d", "2026-11-21",
	},
	postgresCPU: {"PostgreSQL, CPU per increment", 97, "µs", ingestBench, "7057648", slowDay},
	redisCPU:    {"Redis, CPU per increment", 18, "µs", ingestBench, "7057648", slowDay},
	kafkaCPU:    {"Kafka, CPU per increment", 21, "µs", ingestBench, "7057648", slowDay},
	transaction: {"transaction of one increment", 700, "µs", recordBench, "72704fd", slowDay},
	perIncrement: {
		"each further increment of a transaction", 56, "µs", recordBench, "c90c36c", "2026-11-22",
	},
	projection: {
		"relay, Kafka and projection", 42097, "events/s", "scorebench pipeline", "12a818d", "2026-11-21",
	},
	deliveryCPU: {
		"gateway, CPU per message to a viewer", 6.1, "µs", "scorebench realtime hot --connections 10000", "12a818d",
		"2026-11-21",
	},
	connectionMemory: {
		"gateway, memory per connection", 7300, "bytes", "scorebench realtime idle --connections 15000", "12a818d",
		"2026-11-21",
	},
	redisUser:         {"Redis, per user and board", 221, "bytes", bytesBench, bytesCommit, bytesDay},
	postgresUser:      {"PostgreSQL, per user", 152, "bytes", bytesBench, bytesCommit, bytesDay},
	postgresUserBoard: {"PostgreSQL, per user and board", 345, "bytes", bytesBench, bytesCommit, bytesDay},
	leaguePlayer: {
		"PostgreSQL, per player and period of a league", 499, "bytes",
		"go test ./server/store -bench LeagueEnd/1000000", "f251f954", "2026-11-29",
	},
	ledgerRow:     {"ledger with its indexes, per increment", 322, "bytes", bytesBench, bytesCommit, bytesDay},
	outboxRow:     {"outbox with its indexes, per increment", 217, "bytes", bytesBench, bytesCommit, bytesDay},
	walBytes:      {"WAL (lz4), per increment", 1669, "bytes", bytesBench, bytesCommit, bytesDay},
	kafkaBytes:    {"Kafka log of one replica, per increment", 136, "bytes", bytesBench, bytesCommit, bytesDay},
	requestBytes:  {"request of an increment", 710, "bytes", bytesBench, bytesCommit, bytesDay},
	responseBytes: {"response to an increment", 650, "bytes", bytesBench, bytesCommit, bytesDay},
	frameBytes:    {"message of ten rows to a viewer", 691, "bytes", bytesBench, bytesCommit, bytesDay},
}

func (c coefficient) value() float64 { return table[c].Value }

// Coefficients returns the table.
func Coefficients() []Coefficient { return table[:] }
