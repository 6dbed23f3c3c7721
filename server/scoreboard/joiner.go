package scoreboard

import (
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Characters that are only visible by what they do to their neighbours.
const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
	emojiStyle         = '\ufe0f'
	blackFlag          = '\U0001f3f4' // of a region, if tags follow
	cancelTag          = '\U000e007f'
)

// joins reports whether the joiner or non-joiner at index i of a name does what it is for. Before
// is the character before it, without marks. Both follow a virama, in scripts of India, also where
// a word ends, as those of Malayalam do; a non-joiner stands between two letters of Arabic that
// would be joined, as in Persian (RFC 5892, appendix A); a joiner stands between two emoji.
func joins(name []rune, i int, before rune) bool {
	if i > 0 && isVirama(name[i-1]) {
		return true
	}
	if i == 0 || i+1 == len(name) {
		return false
	}
	if name[i] == zeroWidthJoiner {
		return isEmoji(before) && isEmoji(name[i+1])
	}
	return joinsNext(before) && joinsPrevious(name[i+1])
}

// viramaClass is the combining class of viramas.
const viramaClass = 9

func isVirama(c rune) bool {
	return norm.NFC.PropertiesString(string(c)).CCC() == viramaClass
}

// joinsNext reports whether an Arabic letter is joined to the letter behind it (joining type D).
func joinsNext(c rune) bool { return joinsPrevious(c) && !unicode.Is(rightJoining, c) }

// joinsPrevious reports whether an Arabic letter is joined to the letter before it (joining type
// D or R).
func joinsPrevious(c rune) bool {
	return unicode.Is(unicode.Arabic, c) && unicode.Is(unicode.L, c) && 0x620 <= c && c <= 0x6ff &&
		!unicode.Is(apart, c)
}

// The letters of Arabic that are not joined to the next one, and those that are joined to none:
// types R and U of Unicode's ArabicShaping.txt, 15.0, in the block Arabic.
var (
	rightJoining = &unicode.RangeTable{R16: []unicode.Range16{
		{Lo: 0x622, Hi: 0x625, Stride: 1},
		{Lo: 0x627, Hi: 0x629, Stride: 2},
		{Lo: 0x62f, Hi: 0x632, Stride: 1},
		{Lo: 0x648, Hi: 0x648, Stride: 1},
		{Lo: 0x671, Hi: 0x673, Stride: 1},
		{Lo: 0x675, Hi: 0x677, Stride: 1},
		{Lo: 0x688, Hi: 0x699, Stride: 1},
		{Lo: 0x6c0, Hi: 0x6c0, Stride: 1},
		{Lo: 0x6c3, Hi: 0x6cb, Stride: 1},
		{Lo: 0x6cd, Hi: 0x6cf, Stride: 2},
		{Lo: 0x6d2, Hi: 0x6d3, Stride: 1},
		{Lo: 0x6d5, Hi: 0x6d5, Stride: 1},
		{Lo: 0x6ee, Hi: 0x6ef, Stride: 1},
	}}
	apart = &unicode.RangeTable{R16: []unicode.Range16{
		{Lo: 0x621, Hi: 0x621, Stride: 1}, {Lo: 0x640, Hi: 0x640, Stride: 1}, {Lo: 0x674, Hi: 0x674, Stride: 1},
	}}
)

// isEmoji reports whether a character is a symbol, as emoji are, or the tone of one.
func isEmoji(c rune) bool {
	return unicode.Is(unicode.So, c) || '\U0001f3fb' <= c && c <= '\U0001f3ff' || isReservedEmoji(c)
}

// isReservedEmoji reports whether a character has no meaning in the Unicode of this program, and
// is reserved for emoji of later versions.
func isReservedEmoji(c rune) bool {
	return '\U0001f300' <= c && c <= '\U0001faff' && !unicode.IsGraphic(c)
}

// isKeycap reports whether rest encloses the digit before it in a keycap.
func isKeycap(rest []rune, before rune) bool {
	return len(rest) > 1 && rest[1] == '\u20e3' && (before == '#' || before == '*' || '0' <= before && before <= '9')
}

// maxTags is the number of tags that name a region, such as those of "gbeng" for England.
const maxTags = 6

// tags is the number of characters that make a black flag that of a region: letters and digits
// as tags, and the tag that ends them; 0 if the characters are something else.
func tags(rest []rune) int {
	for n, c := range rest {
		switch letter := c - 0xe0000; {
		case c == cancelTag && n >= 3:
			return n + 1
		case n < maxTags && ('a' <= letter && letter <= 'z' || '0' <= letter && letter <= '9'):
		default:
			return 0
		}
	}
	return 0
}
