package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// Tier is a named band of a board. Exactly one of Rank, Percentile and Score is set. A user is
// in the first tier of the board that holds.
type Tier struct {
	Name string `json:"name"`           // name of the tier, named as a board
	Rank int64  `json:"rank,omitempty"` // last rank that is in the tier
	// Percentage of the ranked users that are in the tier, counted from the first and rounded up to whole users:
	// above 0, at most 100, with at most 3 decimals.
	Percentile float64 `json:"percentile,omitempty"`
	Score      *int64  `json:"score,omitempty"` // worst score that is in the tier, whatever the subscore
}

// NextTier is the tier before that of a user, and how far the user is from it.
type NextTier struct {
	Name  string `json:"name"`            // name of the tier
	Ranks int64  `json:"ranks,omitempty"` // ranks to climb, for a tier by rank or percentile
	// Points to gain, or to lose where the lowest score ranks first, for a tier by score.
	Points int64 `json:"points,omitempty"`
}

// String is a tier as tools write it: NAME=rank:N, NAME=percentile:P or NAME=score:S.
func (t Tier) String() string {
	switch {
	case t.Score != nil:
		return t.Name + "=score:" + strconv.FormatInt(*t.Score, 10)
	case t.Percentile != 0:
		return t.Name + "=percentile:" + strconv.FormatFloat(t.Percentile, 'f', -1, 64)
	}
	return t.Name + "=rank:" + strconv.FormatInt(t.Rank, 10)
}

// ParseTier is the inverse of Tier.String.
func ParseTier(text string) (t Tier, err error) {
	name, bound, _ := strings.Cut(text, "=")
	kind, value, _ := strings.Cut(bound, ":")
	t.Name = name
	switch kind {
	case "rank":
		t.Rank, err = strconv.ParseInt(value, 10, 64)
	case "percentile":
		t.Percentile, err = strconv.ParseFloat(value, 64)
	case "score":
		var score int64
		score, err = strconv.ParseInt(value, 10, 64)
		t.Score = &score
	default:
		err = strconv.ErrSyntax
	}
	if err != nil || name == "" {
		return Tier{}, fmt.Errorf("invalid tier %q: want NAME=rank:N, NAME=percentile:P or NAME=score:S", text)
	}
	return t, nil
}

// ParseTiers parses tiers that are separated by commas or spaces; none in an empty text. It never
// returns nil without an error.
func ParseTiers(text string) ([]Tier, error) {
	tiers := []Tier{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		t, err := ParseTier(word)
		if err != nil {
			return nil, err
		}
		tiers = append(tiers, t)
	}
	return tiers, nil
}

// TiersText is the inverse of ParseTiers.
func TiersText(tiers []Tier) string {
	words := make([]string, len(tiers))
	for i := range tiers {
		words[i] = tiers[i].String()
	}
	return strings.Join(words, ",")
}
