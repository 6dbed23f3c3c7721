package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/loadgen"
	"github.com/scoreboard/scoreboard/loadgen/report"
	"github.com/scoreboard/scoreboard/loadgen/sizing"
	"github.com/scoreboard/scoreboard/migrations"
)

// printed has the values that each command prints with --output json, several if it
// depends on the flags; nil for commands that print none.
var printed = map[string][]any{
	"accept": {report.Report{}}, "audit list": {client.AuditEntries{}},
	"board archive": {client.Board{}}, "board create": {client.Board{}}, "board freeze": {client.Board{}},
	"action start": {client.Action{}}, "audit show": {client.AuditEntry{}},
	"board standings": {client.FinalStandings{}},
	"open docs":       nil, "open report": nil, "load clean": {cleaned{}},
	"sign": {signed{}}, "size": {sizing.Plan{}, []sizing.Coefficient{}}, "status": {client.Status{}},
	"user profile get": {client.Profile{}}, "user profile set": {client.Profile{}},
	"user privacy get": {client.Privacy{}}, "user privacy set": {client.Privacy{}},
	"audit verify":     {client.AuditChain{}},
	"board list":       {client.Boards{}},
	"board rules show": {client.BoardRules{}}, "board rules set": {client.BoardRule{}},
	"board rules clear":  {client.Board{}},
	"board rewards show": {client.RewardTable{}}, "board rewards set": {client.RewardTable{}},
	"board rewards clear": {client.RewardTable{}},
	"reward list":         {client.Rewards{}, client.BoardRewards{}}, "reward claim": {client.Reward{}},
	"reward grant": {client.Reward{}}, "reward revoke": {client.Reward{}},
	"league place": {client.LeaguePlace{}}, "league cohort": {client.Cohort{}}, "league cohorts": {client.Cohorts{}},
	"league history": {client.LeagueHistory{}}, "league recompute": {client.LeagueRecomputed{}},
	"tournament add": {client.Participation{}}, "tournament join": {client.Participation{}},
	"tournament leave": {client.Participation{}}, "tournament remove": {client.Participation{}},
	"tournament show": {client.Participation{}}, "tournament players": {client.Players{}},
	"board roll": {wire.Rolled{}}, "board set": {client.Board{}}, "board show": {shownBoard{}},
	"board unfreeze": {client.Board{}},
	"completion":     nil, "help": nil, "profile remove": nil, "profile use": nil,
	"profile add": {profileDetail{}}, "profile show": {profileDetail{}},
	"dlq drop": {client.DeadLetter{}}, "dlq list": {client.DeadLetters{}}, "dlq requeue": {client.DeadLetter{}},
	"dlq show":   {client.DeadLetter{}},
	"friend ask": {client.Friend{}}, "friend list": {client.Friends{}}, "friend remove": {client.Friend{}},
	"friend top": {client.List{}},
	"team add":   {client.TeamMember{}}, "team remove": {client.TeamMember{}},
	"team list": {client.Teams{}}, "team members": {client.TeamMembers{}},
	"doctor":        {diagnosis{}},
	"explain":       {client.RankExplanation{}},
	"event reverse": {[]client.Receipt{}, client.Reversal{}},
	"event show":    {client.Event{}}, "event unvoid": {client.Void{}},
	"event void": {client.VoidPreview{}, client.Void{}}, "event voids": {[]client.Void{}},
	"event show-void": {client.Void{}},
	"flag confirm":    {client.Flag{}}, "flag dismiss": {client.Flag{}}, "flag list": {client.Flags{}},
	"flag show":     {client.Flag{}},
	"settings list": {[]client.Setting{}}, "settings get": {client.Setting{}},
	"settings set": {client.Setting{}, []client.Setting{}},
	"job list":     {[]client.Job{}}, "job stop": {client.Job{}},
	"key create": {client.Key{}}, "key list": {[]client.Key{}}, "key revoke": nil,
	"key rotate":     {client.Key{}, client.MasterKeyRotation{}},
	"ledger archive": {client.Archived{}},
	"webhook create": {client.Webhook{}}, "webhook list": {[]client.Webhook{}}, "webhook rotate": {client.Webhook{}},
	"webhook enable": nil, "webhook delete": nil, "webhook test": {client.WebhookDelivery{}},
	"webhook retry": {client.WebhookDelivery{}}, "webhook deliveries": {client.WebhookDeliveries{}},
	"load run": {report.Report{}, loadgen.Max{}}, "load report": {report.Report{}},
	"migrate status": {[]migrations.Version{}}, "migrate up": {[]migrations.Version{}},
	"outbox status": {client.Outbox{}}, "profile list": {[]profileRow{}}, "rank": {client.Place{}, wouldRank{}},
	"rebuild": {[]wire.Rebuilt{}, client.RankingStatus{}}, "reconcile": {wire.Verified{}},
	"verify": {wire.Verified{}}, "replay": {client.Replayed{}},
	"score get": {client.Place{}}, "score statement": {client.Statement{}},
	"score submit": {client.Receipt{}, []client.Receipt{}, summary{}},
	"token mint":   {client.Token{}}, "top": {client.Top{}},
	"user adjust": {client.Receipt{}}, "user ban": {client.UserState{}}, "user erase": {client.Erased{}},
	"export board": nil, "user export": nil,
	"import csv": {[]planned{}, []imported{}}, "import nakama": {[]planned{}, []imported{}},
	"import podium": {[]planned{}, []imported{}},
	"user history":  {client.RankHistory{}},
	"user freeze":   {client.UserState{}}, "user show": {client.User{}}, "user unban": {client.UserState{}},
	"user unfreeze": {client.UserState{}},
	"version":       {buildinfo.Info{}}, "watch": {client.State{}, client.TimelineFrame{}},
	"what-if": {client.WhatIf{}},
}

// jsonShapes documents the JSON of every command, generated from the types, as the end of docs/cli.md.
func jsonShapes(t *testing.T) string {
	t.Helper()
	missing := maps.Clone(printed)
	forEachCommand(newRootCmd(newProgram(&process{})), func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "sbctl ")
		if _, known := missing[path]; !known && !cmd.HasSubCommands() {
			t.Errorf("no JSON shape for sbctl %s: add it to printed", path)
		}
		delete(missing, path)
	})
	for path := range missing {
		if path != "help" {
			t.Errorf("unknown command sbctl %s", path)
		}
	}
	types := shapesOf{}
	var b bytes.Buffer
	b.WriteString(
		"\n## JSON\n\n" +
			"What each command prints with `--output json`. Fields with a `?` may be absent. New fields may " +
			"be added; within a\nmajor version none is renamed or removed. Errors: see [output](#output).\n\n" +
			"| command | prints |\n|---|---|\n",
	)
	for _, path := range slices.Sorted(maps.Keys(printed)) {
		if printed[path] == nil {
			continue
		}
		var all []string
		for _, v := range printed[path] {
			all = append(all, types.link(reflect.TypeOf(v)))
		}
		fmt.Fprintf(&b, "| `sbctl %s` | %s |\n", path, strings.Join(all, ", or "))
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		fmt.Fprintf(&b, "\n### %s\n\n```\n%s\n```\n", name, types.object(types[name], ""))
	}
	return b.String()
}

// shapesOf has the structs that are described under their own names.
type shapesOf map[string]reflect.Type

// named notes a struct and returns its name, the same for all values of the type.
func (s shapesOf) named(t reflect.Type) string {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if other := s[name]; other != nil && other != t { // two packages have it
		name += strings.ToUpper(t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:])
	}
	if s[name] == nil {
		s[name] = t
		s.object(t, "") // notes the types of its fields
	}
	return name
}

// link describes the JSON of a type in Markdown.
func (s shapesOf) link(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return s.link(t.Elem())
	case t.Kind() == reflect.Slice:
		return "list of " + s.link(t.Elem())
	case t.Kind() == reflect.Struct && t.Name() != "":
		name := s.named(t)
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	}
	return "`" + s.shape(t, "") + "`"
}

// shape describes the JSON of a type.
func (s shapesOf) shape(t reflect.Type, indent string) string {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "time"
	case t == reflect.TypeFor[time.Duration]():
		return "nanoseconds"
	case t == reflect.TypeFor[[]byte]():
		return "base64"
	case t == reflect.TypeFor[json.RawMessage]():
		return "any"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.shape(t.Elem(), indent)
	case reflect.Slice, reflect.Array:
		return "[" + s.shape(t.Elem(), indent) + "]"
	case reflect.Map:
		return "{" + s.shape(t.Key(), indent) + ": " + s.shape(t.Elem(), indent) + "}"
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Struct:
		if t.Name() != "" {
			return s.named(t)
		}
		return s.object(t, indent)
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Interface:
		return "any"
	}
	return "integer"
}

func (s shapesOf) object(t reflect.Type, indent string) string {
	var b strings.Builder
	b.WriteString("{\n")
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if strings.Contains(options, "omit") {
			name += "?"
		} else if f.Type.Kind() == reflect.Pointer {
			name += " (or null)"
		}
		fmt.Fprintf(&b, "%s  %s: %s\n", indent, name, s.shape(f.Type, indent+"  "))
	}
	return b.String() + indent + "}"
}
