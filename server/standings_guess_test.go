package server_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// sealedRig has two ended seasons of the board cup, each with the users user-010, user-020 and
// so on, up to user-060.
type sealedRig struct {
	*harness
	node *node
	db   *backends.Conn
	root *client.Client
}

const (
	veiledUser = "user-020" // becomes hidden in newSealedRig
	goneUser   = "user-040" // is erased by a test
)

func newSealedRig(t *testing.T) *sealedRig {
	t.Helper()
	h := newHarness(t)
	n := h.start(allRoles, append(slices.Clone(loopback), "boards-close-grace", "1s", "web-boards", "*")...)
	r := &sealedRig{h, n, backends.Connect(t, h.postgres), n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)}
	end := time.Now().Add(time.Hour).UTC()
	if _, err := r.root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "cup", Period: "season", Season: "one", EndsAt: &end,
	}); err != nil {
		t.Fatal(err)
	}
	for _, season := range []string{"two", "three"} {
		for i := 10; i <= 60; i += 10 {
			in := client.Increment{User: fmt.Sprintf("user-%03d", i), Board: "cup", Delta: int64(1000 - i)}
			if _, err := r.root.Submit(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		end = end.Add(time.Hour)
		roll := client.RollRequest{Season: season, EndsAt: &end}
		if _, err := r.root.RollBoards(t.Context(), "cup", roll); err != nil {
			t.Fatal(err)
		}
	}
	h.await("the final standings", func() bool {
		return r.db.Count(t, `select count(*) from boards where announced_at is not null`) == 2
	})
	if _, err := r.root.SetPrivacy(t.Context(), veiledUser, "pseudonym"); err != nil {
		t.Fatal(err)
	}
	return r
}

// bodies are what a caller reads about a board that has ended.
func (r *sealedRig) bodies(t *testing.T, board string, token http.Header) (all []string) {
	t.Helper()
	for _, path := range []string{
		"/v1/boards/" + board + "/standings", "/v1/boards/" + board, "/v1/boards?family=cup", "/b/" + board,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.node.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = token.Clone()
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s, %v", path, res.StatusCode, body, err)
		}
		all = append(all, string(body))
	}
	return all
}

func (r *sealedRig) standings(t *testing.T, board string, token http.Header) (final wire.FinalStandings) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.bodies(t, board, token)[0]), &final); err != nil || len(final.Entries) != 6 {
		t.Fatalf("%+v, %v; want 6 rows", final, err)
	}
	return final
}

var digests = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// guess tries 300 ids for each row that names nobody against all digests that the caller gets,
// and returns the users whom it finds.
func (r *sealedRig) guess(t *testing.T, board string, token http.Header) (named []string) {
	t.Helper()
	final := r.standings(t, board, token)
	shown := map[string]bool{}
	for _, body := range r.bodies(t, board, token) {
		for _, digest := range digests.FindAllString(body, -1) {
			shown[digest] = true
		}
	}
	salts := []string{""}
	var unknown []int
	for i, e := range final.Entries {
		if salts = append(salts, e.Salt); !strings.HasPrefix(e.UserID, "user-") {
			unknown = append(unknown, i)
		}
	}
	line := func(e wire.FinalEntry, user string) string {
		return fmt.Sprintf("%d\t%s\t%d\t%d", e.Rank, user, e.Score, e.ReachedAt.UnixMicro())
	}
	has := func(text string) bool {
		sum := sha256.Sum256([]byte(text))
		return shown[hex.EncodeToString(sum[:])]
	}
	// Each row, with every salt at hand.
	for _, at := range unknown {
		for i := range 300 {
			for _, salt := range salts {
				user := fmt.Sprintf("user-%03d", i)
				if has(line(final.Entries[at], user) + "\t" + salt + "\n") {
					named = append(named, user)
				}
			}
		}
	}
	slices.Sort(named)
	return slices.Compact(named)
}

// checkSeal checks the hash of final standings: with the leaf as it was given where the row has
// no salt, else with that of the row.
func checkSeal(t *testing.T, final wire.FinalStandings, unsalted int) {
	t.Helper()
	sum := sha256.New()
	for _, e := range final.Entries {
		leaf := e.Leaf
		if e.Salt == "" {
			unsalted--
		} else {
			row := sha256.Sum256(fmt.Appendf(nil, "%d\t%s\t%d\t%d\t%s\n",
				e.Rank, e.UserID, e.Score, e.ReachedAt.UnixMicro(), e.Salt))
			leaf = hex.EncodeToString(row[:])
		}
		_, _ = io.WriteString(sum, leaf+"\n")
	}
	got := hex.EncodeToString(sum.Sum(nil))
	if got != final.StandingsHash || final.StandingsVersion != 2 || unsalted != 0 {
		t.Errorf("the rows hash to %s, %d too few of them without a salt: %+v", got, unsalted, final)
	}
}

func TestSealNamesNobody(t *testing.T) {
	t.Parallel()
	r := newSealedRig(t)
	player, operator := bearer(r.token("user-060", "", time.Hour)), bearer(r.token("op", auth.ScopeOperate, time.Hour))
	server := bearer(r.token("game", auth.ScopeUpdate, time.Hour))
	before := r.standings(t, "cup:one", operator)
	checkSeal(t, before, 0)
	if n := r.db.Count(t, `select count(*) from board_standings where length(salt) = 16`); n != 12 { // 128 bits
		t.Errorf("%d rows of 12 have a salt of 16 bytes", n)
	}
	r.checkSaltsAreKept(t)
	checkSeal(t, r.standings(t, "cup:one", player), 1)
	other := r.standings(t, "cup:two", player)
	if one := r.standings(t, "cup:one", player); one.Entries[1].UserID == other.Entries[1].UserID ||
		one.Entries[1].UserID[0] != '~' || other.Entries[1].UserID[0] != '~' {
		t.Errorf("on two boards the hidden user is %s and %s", one.Entries[1].UserID, other.Entries[1].UserID)
	}
	if _, err := r.root.Erase(t.Context(), goneUser, "asked"); err != nil {
		t.Fatal(err)
	}
	after := r.standings(t, "cup:one", operator)
	if after.StandingsHash != before.StandingsHash || after.Entries[3].UserID == goneUser {
		t.Errorf("after the erasure: %+v, before: %+v", after, before)
	}
	checkSeal(t, after, 1)
	checkSeal(t, r.standings(t, "cup:one", player), 2)
	for who, token := range map[string]http.Header{"a player": player, "a server": server} {
		if named := r.guess(t, "cup:one", token); named != nil {
			t.Errorf("%s guesses %v", who, named)
		}
	}
	// The database has no more than that.
	if n := r.db.Count(t, `select count(*) from board_standings where salt is null and leaf is not null
and user_id like 'erased-%'`); n != 2 {
		t.Errorf("%d rows of the erased user without a salt, want 2", n)
	}
}

// checkSaltsAreKept checks that nothing but an erasure deletes a salt.
func (r *sealedRig) checkSaltsAreKept(t *testing.T) {
	t.Helper()
	salts := func() (all string) {
		t.Helper()
		if err := r.db.QueryRow(t.Context(), `select string_agg(board_id || user_id || encode(salt, 'hex'), ' '
    order by board_id, user_id) from board_standings`).Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	kept := salts()
	do := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := salts(); got != kept {
			t.Errorf("%s changes the salts", what)
		}
	}
	ctx := t.Context()
	for _, to := range []string{"private", "public", "pseudonym"} {
		_, err := r.root.SetPrivacy(ctx, veiledUser, to)
		do("a user who becomes "+to, err)
	}
	_, err := r.root.Ban(ctx, "user-050", "a test")
	do("a ban", err)
	_, err = r.root.Unban(ctx, "user-050", "a test")
	do("the end of a ban", err)
	_, err = r.root.PutProfile(ctx, "user-050", client.Profile{DisplayName: "Ada"})
	do("a name", err)
	_, err = r.root.ArchiveBoard(ctx, "cup:two")
	do("archiving the board", err)
}
