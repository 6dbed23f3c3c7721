package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/docpage"
)

// inRepository is a program that runs another one in the repository, with the caches of
// the user of the tests.
func inRepository(t *testing.T, command string) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	env, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := strings.Split(strings.TrimSpace(string(env)), "\n")
	return fmt.Sprintf("cd %q; exec env GOCACHE=%q GOMODCACHE=%q GOPATH=%q GOFLAGS=%q %s",
		root, dirs[0], dirs[1], dirs[2], os.Getenv("GOFLAGS"), command)
}

// Every command of README.md, and of the pages about boards, leagues, tournaments, rewards, reading, signing,
// streams, tiers, teams, friends, privacy and webhooks, is run on one development stack, in the order of the pages.
func TestTourOfTheDocs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"curl", "openssl"} {
		backends.Program(t, name)
	}
	readme := readPage(t, "README.md")
	tournaments := readPage(t, "docs/tournaments.md")
	boards, reading := readPage(t, "docs/boards.md"), readPage(t, "docs/reading.md")
	signing, protocol := readPage(t, "docs/signing.md"), readPage(t, "docs/protocol.md")
	leagues, web := readPage(t, "docs/leagues.md"), readPage(t, "docs/web.md")
	rewards, tiers := readPage(t, "docs/rewards.md"), readPage(t, "docs/tiers.md")
	teams, friends := readPage(t, "docs/teams.md"), readPage(t, "docs/friends.md")
	privacy, webhooks := readPage(t, "docs/privacy.md"), readPage(t, "docs/webhooks.md")
	golang, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	golangMain := filepath.Join(dir, "first.go")
	if err := os.WriteFile(golangMain, []byte(programOf(t, readme)), 0o600); err != nil {
		t.Fatal(err)
	}
	postgres, ops := backends.Postgres(t, nil), freeAddr(t)
	programs := map[string]string{
		"go": inRepository(t, golang+` "$@"`),
		"in-background": fmt.Sprintf(`
export SCOREBOARD_POSTGRES_URL=%[1]q SCOREBOARD_POSTGRES_DIRECT_URL=%[2]q SCOREBOARD_REDIS_URL=%[3]q
export SCOREBOARD_BOARDS_CLOSE_GRACE=1s # the season of docs/rewards.md is sealed within the test
"$@" --addr %[4]s --ops-addr %[5]s > scoreboardd.log 2>&1 &
until [ -s .dev/sbctl.env ] && curl -fs http://%[5]s/readyz; do kill -0 $!; sleep 0.1; done`,
			backends.Runtime(postgres), postgres, backends.OwnRedis(t).URL, freeAddr(t), ops),
	}
	const prelude = `
curl() { # a stream has no end
	case "$*" in
	*text/event-stream*) command curl --max-time 1 "$@" || [ $? = 28 ] ;;
	*) command curl "$@" ;;
	esac
}
page() { printf '\n== %s\n' "$1"; }
claimable() {
	sbctl reward list --user "$1" --state claimable --output json | grep -o '"id": [0-9]*' | grep -o '[0-9]*$'
}
`
	out := shell(t, dir, prelude+
		"page README.md\n"+readme.Script(t, []string{"Quick start", "Your first increment"}, nil)+
		"page first.go\ngo run "+golangMain+"\n"+
		"page docs/boards.md\n"+boards.Script(t, []string{
		"", "Periods", "Attempts", "Increments for a period", "Metadata", "Ties", "Subscores", "Labels", "Rules",
	}, nil)+
		"page docs/web.md\n"+web.Script(t, []string{"Title, description, colour and image"}, nil)+
		"page docs/leagues.md\n"+leagues.Script(t, []string{""}, []string{"After a void"})+
		"page docs/tournaments.md\n"+tournaments.Script(t, []string{""}, nil)+
		"page docs/rewards.md\n"+rewards.Script(t, []string{"", "The table", "States"}, nil)+
		"page docs/reading.md\n"+reading.Script(t, []string{""}, nil)+
		"page docs/signing.md\n"+signing.Script(t, []string{
		"In the body", "In the headers", "When a request is rejected",
	}, nil)+
		"page docs/protocol.md\n"+protocol.Script(t, []string{"Connect", "Server-sent events", "Polling"}, nil)+
		"page docs/tiers.md\n"+tiers.Script(t, []string{"", "The users of a tier"}, nil)+
		"page docs/teams.md\n"+teams.Script(t, []string{""}, nil)+
		"page docs/friends.md\n"+friends.Script(t, []string{"Between players", "The friends' board"}, nil)+
		"page docs/privacy.md\n"+privacy.Script(t, []string{""}, nil)+
		"page docs/webhooks.md\n"+webhooks.Script(t, []string{"Create a webhook"}, nil),
		programs,
		"scoreboardd dev ", "in-background scoreboardd dev ",
		"--max-time 2", "--max-time 1",
		"daily:2026-11-22", "daily:"+time.Now().In(berlin).Format(time.DateOnly),
		"--starts 14d --ends 28d", "--starts 15s --ends 28d",
		"sbctl score submit --user ada --board open", "sleep 16; sbctl score submit --user ada --board open",
		// A week that ends in ten seconds, and the rewards as they are numbered then.
		"create trophy --period weekly", "create trophy --period season --season 2026-w47 --ends 10s",
		"sbctl reward list --user ada --state claimable", `sbctl score submit --user ada --board trophy --delta 1200
until [ -n "$(claimable ada)" ]; do sleep 0.2; done
sbctl reward list --user ada --state claimable`,
		"sbctl reward claim 8841", `sbctl reward claim "$(claimable ada)"`,
		"sbctl reward revoke 8842", `sbctl reward revoke "$(claimable bob)"`,
		"2026-12-21T00:00:00Z", time.Now().Add(30*24*time.Hour).UTC().Format(time.RFC3339),
	)
	shown := out
	for _, want := range []string{
		`== README.md\n`,
		`(?m)^score +25 \(\+25\)$`, `(?m)^replayed +yes: `, // the same increment twice
		`"user_id":"ada",[^\n]*"processed_event_id":"match-8846"`,
		`== first.go\n`, `35 false`,
		`== docs/boards.md\n`, `(?m)^board +arena$`, `(?m)^board +daily`, `(?m)^board +season`,
		`(?m)^board +friday`, `(?m)^board +friday`, `eu-ranked`,
		`== docs/web.md\n`, `(?m)^title +Ring of fire$`, `(?m)^color +#d55e00$`,
		`== docs/leagues.md\n`, `(?m)^division +1 of 5$`, `(?m)^rank +1 of 2$`, `(?m)^zone +safe$`,
		`== docs/tournaments.md\n`, `(?m)^join +required, at most 64 players`, `(?m)^players +1 of 64`,
		`(?m)^joined +true`,
		`(?m)^score +4,?200`, `(?m)^ada +20`, `(?m)^open:summer +created\b`,
		`== docs/rewards.md\n`, `(?m)^rewards of trophy: to be claimed within 2160h;`,
		`(?m)^ *\d+ +ada +trophy:2026-w47 +1 +claimable `, `(?m)^ *\d+ +ada .* claimed `,
		`(?m)^ *\d+ +bob +trophy:2026-w47 +claimable .*\{"gems":50\}$`, `(?m)^ *\d+ +bob .* revoked `,
		`== docs/reading.md\n`, `(?m)^ada is \d+\w\w of \d+ on global`,
		`== docs/signing.md\n`,
		`"user_id":"ada",[^\n]*"processed_event_id":"round-17"`,
		`\{"results":\[\{"status":"done","receipt":\{[^\n]*"processed_event_id":"round-18"`,
		`(?m)^text +ada\|5\|round-19\|`, `(?m)^text +POST\\n/v1/scores/increments\\n`,
		`== docs/protocol.md\n`,
		`\{"token":"\w{26}","expires_at":"`, `event: leaderboard\.updated\n`, `\{"board":"global","entries":\[`,
		`== docs/tiers.md\n`, `(?m)^tiers +champion=rank:1,gold=percentile:10,silver=score:500$`,
		`== docs/teams.md\n`, `(?m)^teams +best:5 of raids, from-now$`, `(?m)^alice +ants `,
		`== docs/friends.md\n`, `(?m)^bob +requested `, `(?m)^bob +none`,
		`== docs/privacy.md\n`, `"user_id":"ada","visibility":"friends"`, `(?m)^visibility +pseudonym$`,
		`== docs/webhooks.md\n`, `(?m)^secret +whsec_`, `rank\.reached \(top 10\) of global`,
	} {
		at := regexp.MustCompile(want).FindStringIndex(shown)
		if at == nil {
			t.Fatalf("no %s after what came before it:\n%s", want, out)
		}
		shown = shown[at[1]:]
	}
	// The page shows what the commands print: all but numbers and times, which differ.
	printed := masked(out)
	for line := range strings.Lines(readme.Output) {
		if line = strings.TrimSpace(masked(line)); !strings.Contains(printed, line) {
			t.Errorf("README.md shows %q, which no command printed:\n%s", line, out)
		}
	}
}

// masked is a text with a single # for each number or time, and a single space for several.
func masked(text string) string {
	text = regexp.MustCompile(`[0-9][0-9TZ:.,-]*`).ReplaceAllString(text, "#")
	return regexp.MustCompile(` +`).ReplaceAllString(text, " ")
}

// programOf returns a program with the Go code of a page.
func programOf(t *testing.T, p docpage.Page) string {
	t.Helper()
	if p.Go == "" {
		t.Fatal("the page has no Go code")
	}
	return `package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/scoreboard/scoreboard/client"
)

func main() {
	if err := submit(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func submit(ctx context.Context) error {
` + p.Go + `
	return err
}
`
}

// The demo plays for a second, on backends of the test, shows its players and ends well.
func TestDemo(t *testing.T) {
	t.Parallel()
	postgres := backends.Postgres(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, backends.Program(t, "make"), "demo")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "DEMO_SECONDS=1", "SCOREBOARD_POSTGRES_URL="+backends.Runtime(postgres),
		"SCOREBOARD_POSTGRES_DIRECT_URL="+postgres, "SCOREBOARD_REDIS_URL="+backends.OwnRedis(t).URL)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) } // it stops what it started
	cmd.WaitDelay = 20 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), " Ada Nyström ") || !strings.Contains(string(out), "demo: ended") {
		t.Errorf("got %v and\n%s", err, out)
	}
}
