package config

import (
	"bytes"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

var update = flag.Bool("update", false, "rewrite docs/settings.md")

// reference is docs/settings.md: written by hand up to the mark; below it are the tables
// of the settings.
const (
	reference = "../../docs/settings.md"
	mark      = "<!-- Below: every setting, written by go test ./server/config -run Reference -update. -->\n"
)

// groups are the headings of the reference, by the first part of the settings' names, each
// with a sentence about all of them.
var groups = map[string]struct{ title, about string }{
	"":      {"Process", ""},
	"tls":   {"TLS", "Encryption of the API's address. The operations address (`ops.addr`) is always plain HTTP."},
	"redis": {"Redis", "Required by every role."},
	"postgres": {
		"PostgreSQL", "Required by every role. [security.md](security.md#two-roles) describes the two database roles.",
	},
	"kafka": {
		"Kafka", "Required by api, intake, relay and projector with `transport` kafka; and by gateway with " +
			"`realtime.bus` kafka. With another `transport` PostgreSQL and Redis are enough " +
			"([redis](redis.md#without-kafka)). Missing topics are created.",
	},
	"auth": {
		"Tokens and signatures",
		"[tokens.md](tokens.md) describes tokens, [requirements.md](requirements.md) attestations, and " +
			"[signing.md](signing.md) signatures.",
	},
	"ingest": {
		"Writes", "Used by the roles api and intake. [moderation.md](moderation.md#action-rules) describes action " +
			"rules.",
	},
	"anomaly": {
		"Anomalies", "Used by the roles api and intake. [moderation.md](moderation.md#anomalies) describes what is " +
			"examined and what happens then.",
	},
	"outbox": {
		"Outbox", "Used by the role relay, which publishes committed changes.",
	},
	"boards":  {"Periods of boards", ""},
	"console": {"Console", "Used by the role api. [console.md](console.md) describes the console."},
	"otlp":    {"Traces", "The same on all processes. [tracing.md](tracing.md) describes the spans."},
	"ledger":  {"Ledger", "The archive is written by the role maintenance."},
	"import":  {"Imports", "Used by the role api. [import.md](import.md) describes imports."},
	"retention": {
		"Personal data", "Deleted by the role maintenance. See [moderation.md](moderation.md#personal-data).",
	},
	"webhooks": {
		"Webhooks", "Used by the role maintenance, which sends the messages. See [webhooks.md](webhooks.md).",
	},
	"projection": {"Projection", "Used by the role projector, which applies changes to the rankings in Redis."},
	"streams":    {"Redis streams", "Used with `transport` streams by the roles relay and projector."},
	"mirror": {
		"Mirror", "Used by the role mirror, which writes feeds for consumers of other APIs " +
			"([feeds.md](feeds.md)).",
	},
	"reconcile": {
		"Comparison of rankings", "Used by the role maintenance, which compares rankings in Redis with PostgreSQL.",
	},
	"realtime": {
		"Streams to clients", "Used by the role gateway. [protocol.md](protocol.md) describes the streams.",
	},
	"reads": {"Reads", ""},
	"web": {
		"Pages of boards", "Used by the roles api and read, which serve the pages, and gateway, which serves their " +
			"streams: set them alike on all. [web.md](web.md) describes the pages.",
	},
	"limit": {
		"Rate limits", "Rates are in requests a minute, 0 to 1000000, over all nodes together. Requests over a limit " +
			"get a 429 with `Retry-After`.",
	},
	"dialect": {
		"Dialects", "APIs of four other specifications, for clients that were written for them. Each needs the roles " +
			"of the native routes that it translates to.",
	},
}

// The settings without a group of their own are together under the first heading.
func groupOf(name string) string {
	if name == "dialects" {
		return "dialect"
	}
	prefix, _, found := strings.Cut(name, ".")
	if !found || prefix == "ops" || prefix == "log" || prefix == "drain" {
		return ""
	}
	return prefix
}

// valueOf names the form of a setting's value.
func valueOf(t *testing.T, s *setting) string {
	t.Helper()
	switch s.to.(type) {
	case *string:
		return "text"
	case *int, *int64, *float64:
		return "number"
	case *bool:
		return "true or false"
	case *time.Duration:
		return "duration"
	case *[]string, *[]netip.Prefix, *scoreboard.Rules:
		return "list"
	case *scoreboard.Quota:
		return "quota"
	}
	t.Fatalf("%s has values of an unknown form", s.name)
	return ""
}

var changes = map[kind]string{fixed: "restart", secret: "restart; never shown", live: "live"}

func TestReferenceUpToDate(t *testing.T) {
	t.Parallel()
	tables := map[string]*bytes.Buffer{}
	var order []string
	table := new(Config).settings()
	for i := range table {
		s := &table[i]
		name := groupOf(s.name)
		group, known := groups[name]
		switch {
		case !known:
			t.Fatalf("%s has no heading in the reference", s.name)
		case s.meaning == "" || strings.TrimSpace(s.meaning) != s.meaning || strings.HasSuffix(s.meaning, "."):
			t.Errorf("%s: the meaning %q is no phrase", s.name, s.meaning)
		}
		if tables[name] == nil {
			order = append(order, name)
			tables[name] = &bytes.Buffer{}
			fmt.Fprintf(tables[name], "\n## %s\n\n", group.title)
			if group.about != "" {
				fmt.Fprintf(tables[name], "%s\n\n", group.about)
			}
			tables[name].WriteString("| setting, flag, variable | value | default | change | meaning |\n" +
				"|---|---|---|---|---|\n")
		}
		def := "none"
		if s.value != "" {
			def = "`" + s.value + "`"
		}
		cell := strings.NewReplacer("|", `\|`, "*", `\*`)
		fmt.Fprintf(tables[name], "| `%s` `--%s` `%s` | %s | %s | %s | %s |\n",
			s.name, FlagName(s.name), EnvName(s.name), valueOf(t, s), def, changes[s.kind], cell.Replace(s.meaning))
	}
	was, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	byHand, _, found := strings.Cut(string(was), mark)
	if !found {
		t.Fatalf("%s lacks the mark", reference)
	}
	var want strings.Builder
	want.WriteString(byHand + mark)
	for _, name := range order {
		want.Write(tables[name].Bytes())
	}
	if *update {
		if err := os.WriteFile(reference, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want.String() != string(was) {
		t.Errorf("%s is outdated; rewrite it with: go test ./server/config -run Reference -update", reference)
	}
}
