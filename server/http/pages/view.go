package pages

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/scoreboard/scoreboard/internal/design"
	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Board is what a page shows of a board.
type Board struct {
	ID     scoreboard.BoardID // as in the path: a board, a family or an instance
	Shown  scoreboard.BoardID // the instance that the rows are of, or ID
	Top    *scoreboard.Top    // its rows; at most Limit are shown
	Limit  int
	Ended  bool      // the rows will not change, but for bans
	Closed time.Time // when it ended; zero if it has not, or unknown
	Ends   time.Time // when its period ends; zero without periods, and once it has
	Sealed string    // the hash of its final standings, in hex; "" if they are not sealed

	Tiers scoreboard.Tiers // the best first; none on a board without tiers
	Order scoreboard.Order // whether the highest or the lowest score is the best

	Periods []Period           // of the family, newest first; none for a board without periods
	Before  scoreboard.BoardID // the period that the choice ends before; "" if it starts with the newest
	Older   scoreboard.BoardID // the last of Periods, if there are older ones; else ""
	Player  *Player            // that the page is about; nil for none
	Kiosk   bool               // for a screen on a wall
	Theme   string             // light or dark; "" is that of the viewer's system
	Pairs   bool               // rows have a subscore
	URL     string             // of the site, without a path; "" if it is unknown

	Appearance *scoreboard.Appearance // nil: none
}

// Period is one instance of a board in the choice of periods.
type Period struct {
	ID      scoreboard.BoardID
	Name    string
	Current bool
}

// List is what the list of boards shows.
type List struct {
	Boards []Listed
	After  scoreboard.BoardID // the last of Boards, if there are more; else ""
	Theme  string             // as of Board
	Filter Filter

	origins []string // that pictures of Boards are loaded from
}

// Filter selects boards of a list by their labels; what is empty selects all.
type Filter struct{ Tag, Region, Platform string }

// Matches reports whether a board has all the labels.
func (f Filter) Matches(b *scoreboard.Board) bool {
	return (f.Tag == "" || slices.Contains(b.Tags, f.Tag)) && (f.Region == "" || f.Region == b.Region) &&
		(f.Platform == "" || f.Platform == b.Platform)
}

// Listed is a board in the list.
type Listed struct {
	ID     scoreboard.BoardID
	Period scoreboard.Period
	Status scoreboard.Status
	Ends   time.Time // when its current period ends; zero without one
	Labels []string  // region, platform and tags

	Appearance *scoreboard.Appearance // nil: none
	Picture    string                 // its address; "" if none is shown
}

// Title is that of the board, else its name.
func (l Listed) Title() string { return look(l.Appearance).titleOr(l.ID) }

// Description is that of the board; "" without one.
func (l Listed) Description() string { return look(l.Appearance).Description }

// Facts says what kind of board it is, in words; "" if there is nothing to say.
func (l Listed) Facts() string {
	var facts []string
	if l.Period != scoreboard.PeriodNone {
		facts = append(facts, string(l.Period))
	}
	if l.Status != scoreboard.StatusActive {
		facts = append(facts, string(l.Status))
	}
	return strings.Join(facts, ", ")
}

// Link returns a link to the page of a board, with the theme.
func (l *List) Link(board scoreboard.BoardID) string {
	return "./" + string(board) + l.query(url.Values{})
}

// More returns a link to the boards that follow.
func (l *List) More() string {
	q := url.Values{"after": {string(l.After)}}
	for name, value := range map[string]string{
		"tag": l.Filter.Tag, "region": l.Filter.Region, "platform": l.Filter.Platform,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return "./" + l.query(q)
}

func (l *List) query(q url.Values) string {
	if l.Theme != "" {
		q.Set("theme", l.Theme)
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// Player is a player that the viewer looks for, by the address of the page.
type Player struct {
	ID    scoreboard.UserID
	Place *scoreboard.Place // with neighbours; nil without a score on the board
}

// row is a row as templates show it.
type row struct {
	scoreboard.Entry
	Tied bool // a neighbouring row has the same score and subscore
	Own  bool // it is the player's
	Pair bool // it has a subscore
}

// Name is the display name, else the id.
func (r row) Name() string {
	if r.Profile != nil && r.Profile.DisplayName != "" {
		return r.Profile.DisplayName
	}
	return string(r.User)
}

// Rows are the rows that the page shows.
func (b *Board) Rows() []row {
	return b.rows(b.Top.Entries[:min(b.Limit, len(b.Top.Entries))])
}

// Place is the standing of the player; nil without one. If the page shows a row of the player, it
// is as that row: the place was read at another time.
func (b *Board) Place() *scoreboard.Place {
	if b.Player == nil || b.Player.Place == nil {
		return nil
	}
	p := *b.Player.Place
	if shown := b.shown(p.User); shown != nil {
		p.Rank, p.Score, p.Subscore = shown.Rank, shown.Score, shown.Subscore
		p.Total = max(p.Total, shown.Rank)
	}
	return &p
}

// shown returns the row of a user among those that the page shows, or nil.
func (b *Board) shown(user scoreboard.UserID) *scoreboard.Entry {
	for i := range b.Top.Entries[:min(b.Limit, len(b.Top.Entries))] {
		if b.Top.Entries[i].User == user {
			return &b.Top.Entries[i]
		}
	}
	return nil
}

// Neighbours are the rows around the player; none if the page shows all of them anyway. Those that
// it does show are as there.
func (b *Board) Neighbours() []row {
	if b.Player == nil || b.Player.Place == nil {
		return nil
	}
	near, others := slices.Clone(b.Player.Place.Neighbours), false
	for i := range near {
		if shown := b.shown(near[i].User); shown != nil {
			near[i] = *shown
		} else {
			others = true
		}
	}
	if !others {
		return nil
	}
	slices.SortStableFunc(near, func(a, b scoreboard.Entry) int { return cmp.Compare(a.Rank, b.Rank) })
	return b.rows(near)
}

func (b *Board) rows(entries []scoreboard.Entry) []row {
	rows := make([]row, len(entries))
	tied := func(i, j int) bool {
		return entries[i].Score == entries[j].Score && entries[i].Subscore == entries[j].Subscore
	}
	for i, e := range entries {
		rows[i] = row{
			Entry: e,
			Tied:  i > 0 && tied(i-1, i) || i+1 < len(entries) && tied(i, i+1),
			Pair:  b.Pairs,
			Own:   b.Player != nil && b.Player.ID == e.User,
		}
	}
	return rows
}

// Path is the last part of the page's own path, for relative links: a browser would read
// the colon of an instance as the end of a scheme.
func (b *Board) Path() string { return "./" + string(b.ID) }

// Address is the absolute address of the page without parameters; "" if that of the site is
// unknown. It never comes from a request, whose header Host a client chooses and a cache may
// keep.
func (b *Board) Address() string {
	if b.URL == "" {
		return ""
	}
	return b.URL + "/b/" + string(b.ID)
}

// With returns a link to the page with another parameter. It keeps the others.
func (b *Board) With(name, value string) string { return b.Path() + b.query(name, value) }

// PeriodLink returns a link to the same view of another period.
func (b *Board) PeriodLink(period scoreboard.BoardID) string {
	return "./" + string(period) + b.query("", "")
}

// PageLink returns a link from the page for iframes to the page of the board.
func (b *Board) PageLink() string { return "../b/" + string(b.ID) + b.query("", "") }

// query returns the parameters of the view, with one changed; "" if all are as without them.
func (b *Board) query(name, value string) string {
	q := url.Values{}
	if b.Limit != shortPage {
		q.Set("limit", strconv.Itoa(b.Limit))
	}
	if b.Player != nil {
		q.Set("player", string(b.Player.ID))
	}
	if b.Theme != "" {
		q.Set("theme", b.Theme)
	}
	if b.Kiosk {
		q.Set("kiosk", "1")
	}
	q.Set(name, value)
	if value == "" {
		q.Del(name)
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// shortPage is the number of rows without the parameter limit.
const shortPage = 10

// PeriodName is the name of the period that the page shows; "" without periods.
func (b *Board) PeriodName() string {
	_, name, _ := strings.Cut(string(b.Shown), ":")
	return name
}

// Title is that of the board, else its name.
func (b *Board) Title() string { return look(b.Appearance).titleOr(b.Shown.Family()) }

// Description is that of the board; "" without one.
func (b *Board) Description() string { return look(b.Appearance).Description }

// Image is the address of the board's picture; "" without one.
func (b *Board) Image() string { return look(b.Appearance).Image }

// Warning says why the rows may be out of date; "" if they are not.
func (b *Board) Warning() string {
	switch {
	case b.Ended:
		return ""
	case b.Top.Degraded == "rebuilding":
		return "The ranking is being rebuilt. These rows come from the database."
	case b.Top.Degraded != "", b.Top.State == scoreboard.StateCatchingUp:
		return "These ranks may be out of date."
	}
	return ""
}

// Times as templates write them.
const (
	exactTime  = "2006-01-02T15:04:05.000Z"
	clockTime  = "15:04:05 UTC"
	endingTime = "2 Jan 2006 15:04 UTC"
)

// ending writes when a period ends.
func ending(at time.Time) string { return at.UTC().Format(endingTime) }

// Exact and Clock are the time that the rows are of, for programs and for people.
func (b *Board) Exact() string { return b.Top.AsOf.UTC().Format(exactTime) }

// Clock is documented above.
func (b *Board) Clock() string { return b.Top.AsOf.UTC().Format(clockTime) }

// Tag returns the entity tag of a rendered page. It is weak, and does not cover the time that
// the rows are of, which passes while nothing changes.
func Tag(b *Board, body []byte) string {
	h := sha256.New()
	for _, part := range bytes.Split(body, []byte(b.Exact())) {
		h.Write(bytes.ReplaceAll(part, []byte(b.Clock()), nil))
	}
	return `W/"` + hex.EncodeToString(h.Sum(nil)[:12]) + `"`
}

// Page renders the page of a board.
func (s *Site) Page(b *Board) []byte { return s.render("board.html.tmpl", b) }

// Embed renders the page of a board for iframes.
func (s *Site) Embed(b *Board) []byte { return s.render("embed.html.tmpl", b) }

// Card renders the picture of a board for links to it: an SVG of 1200x630.
func (s *Site) Card(b *Board) []byte { return s.render("card.svg.tmpl", b) }

// List renders the list of boards.
func (s *Site) List(l *List) []byte { return s.render("list.html.tmpl", l) }

// Problem renders the page of an error.
func (s *Site) Problem(title, message string) []byte {
	return s.render("problem.html.tmpl", struct{ Title, Message string }{title, message})
}

func (s *Site) render(name string, value any) []byte {
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, name, value); err != nil { // the templates are embedded and tested
		panic(err)
	}
	return b.Bytes()
}

// count formats an integer with separators of thousands and a minus sign.
func count(integer any) string { return strings.Replace(english.Grouped(integer), "-", "−", 1) }

// initial is the first character of a name.
func initial(name string) string {
	r, _ := utf8.DecodeRuneInString(name)
	return string(r)
}

// hues is the number of colours of badges.
const hues = 8

// hue is the colour of a user's badge, as the script computes it.
func hue(user scoreboard.UserID) int {
	h := 0
	for i := range len(user) {
		h = (h*31 + int(user[i])) % 9973
	}
	return h % hues
}

// cardRow is a row of the picture.
type cardRow struct {
	row
	X, Y          int
	Short, Colour string // the name, with an ellipsis where it is cut; of the rank
	NameWidth     int    // in pixels; what is wider is not drawn
	Second        string // the subscore; "" without one, and where it has no room
}

// The places of rows in the picture, in pixels.
const (
	cardLeft, cardTop    = 64, 148
	cardColumn, cardLine = 548, 90
	cardLines            = 5
	cardName             = 404 // from the start of a name to the end of the score
	cardDigit            = 17  // of a score, with the space between its groups
	cardSubDigit         = 12  // of a subscore, and of the space before it
	cardMinName          = 120 // beside a subscore
	cardSize             = 28  // of the font of names
	cardHeading          = 730 // of the title
	cardHeadingSize      = 52
	cardDescription      = 1072 // of the description
	cardDescriptionSize  = 24
)

// CardRows are the rows of the picture, in two columns.
func (b *Board) CardRows() []cardRow {
	var rows []cardRow
	for i, r := range b.Rows() {
		if i == 2*cardLines {
			break
		}
		colour := design.Dark.Dim
		if i < 3 {
			colour = []string{design.Dark.Gold, design.Dark.Silver, design.Dark.Bronze}[i]
		}
		nameWidth := cardName - cardDigit*len(count(int64(r.Score)))
		second := ""
		if r.Pair {
			second = count(int64(r.Subscore))
			if left := nameWidth - cardSubDigit*(len(second)+1); left >= cardMinName {
				nameWidth = left
			} else {
				second = "" // the name says more
			}
		}
		rows = append(rows, cardRow{
			row: r, X: cardLeft + i/cardLines*cardColumn, Y: cardTop + i%cardLines*cardLine,
			Short: shorten(r.Name(), nameWidth, cardSize), Colour: colour, NameWidth: nameWidth, Second: second,
		})
	}
	return rows
}

// CardTitle is the title on the picture, with an ellipsis where it is cut.
func (b *Board) CardTitle() string { return shorten(b.Title(), cardHeading, cardHeadingSize) }

// CardDescription is the description on the picture, with an ellipsis where it is cut.
func (b *Board) CardDescription() string {
	return shorten(b.Description(), cardDescription, cardDescriptionSize)
}

// CardColours are those of the picture.
func (b *Board) CardColours() design.Palette { return design.Dark.WithAccent(look(b.Appearance).Color) }

// shorten cuts a text that would be wider than so many pixels in bold letters of a size, and ends it
// with an ellipsis. Which font draws the picture is unknown, so that the widths are those of a wide one.
func shorten(text string, width, size int) string {
	room := 100 * width / size // in hundredths of the size
	cut, at := 0, 0
	for i, r := range text {
		if at += runeWidth(r); at > room {
			return strings.TrimRight(text[:cut], " ") + "…"
		}
		if at+runeWidth('…') <= room {
			cut = i + utf8.RuneLen(r)
		}
	}
	return text
}

// runeWidth is the width of a bold character, in hundredths of the font's size.
func runeWidth(r rune) int {
	switch {
	case r >= 0x1100: // East Asian, emoji
		return 105
	case strings.ContainsRune("iIjl.,:;'|! ", r):
		return 40
	case strings.ContainsRune("mwMW@…%", r), r >= 0x400 && unicode.IsUpper(r):
		return 110
	case unicode.IsUpper(r):
		return 80
	}
	return 71
}
