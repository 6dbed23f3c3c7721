package main

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// The size of a cell in the drawing, and the colours of the terminal.
const (
	cellWidth, cellHeight = 8.4, 18.0
	margin                = 14.0
	foreground            = "#cdd6f4"
	background            = "#1e1e2e"
)

// sixteen are the colours 0 to 15.
var sixteen = []string{
	"#45475a", "#f38ba8", "#a6e3a1", "#f9e2af", "#89b4fa", "#cba6f7", "#94e2d5", "#bac2de",
	"#585b70", "#f38ba8", "#a6e3a1", "#f9e2af", "#89b4fa", "#cba6f7", "#94e2d5", "#ffffff",
}

// pen is the style of the cells that follow.
type pen struct {
	fore, back           string // empty: the terminal's own
	bold, faint, reverse bool
}

// cell is one character with its style; a wide one is followed by an empty one.
type cell struct {
	text string
	pen
}

// draw returns a drawing of a screen: text with escape sequences for styles, as tmux
// prints it. Characters have fixed places, so the columns align in any font and spaces
// are kept.
func draw(screen string) string {
	rows := parse(strings.TrimRight(screen, "\n"))
	var b strings.Builder
	open(&b, [][][]cell{rows})
	for y, row := range rows {
		drawRow(&b, row, margin+float64(y)*cellHeight)
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// open writes the head of a drawing that is as large as the largest of some screens.
func open(b *strings.Builder, screens [][][]cell) {
	columns, lines := 0, 0
	for _, rows := range screens {
		lines = max(lines, len(rows))
		for _, row := range rows {
			columns = max(columns, len(row))
		}
	}
	width, height := float64(columns)*cellWidth+2*margin, float64(lines)*cellHeight+2*margin
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s">`+"\n",
		number(width), number(height), number(width))
	fmt.Fprintf(b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", background)
	fmt.Fprintf(b, `<g font-family="%s" font-size="14" fill="%s">`+"\n",
		"ui-monospace,SFMono-Regular,Menlo,Consolas,monospace", foreground)
}

// drawRow draws the runs of a row: characters of one style and kind.
func drawRow(b *strings.Builder, row []cell, top float64) {
	for from := 0; from < len(row); {
		to := from + 1
		for to < len(row) && row[to].pen == row[from].pen && joins(row[to-1].text, row[to].text) {
			to++
		}
		drawRun(b, row[from:to], margin+float64(from)*cellWidth, top)
		from = to
	}
}

// joins reports whether two neighbouring characters can be drawn at once.
func joins(a, b string) bool {
	if shape(a) || shape(b) {
		return a == b && (a == "█" || a == "─" || a == "━")
	}
	// A wide character ends a run: its width depends on the font.
	return b != "" && a != "" && (a == " ") == (b == " ")
}

// shape reports whether a character is drawn as a shape, which no font leaves gaps in.
func shape(s string) bool {
	return strings.ContainsAny(s, "▁▂▃▄▅▆▇█▏▎▍▌▋▊▉─│╭╮╯╰━╸") && s != ""
}

func drawRun(b *strings.Builder, run []cell, left, top float64) {
	p := run[0].pen
	fore, back := p.fore, p.back
	if fore == "" {
		fore = foreground
	}
	if p.reverse {
		if back == "" {
			back = background
		}
		fore, back = back, fore
	}
	width := float64(len(run)) * cellWidth
	if back != "" {
		rect(b, left, top, width, cellHeight, back)
	}
	text := ""
	for _, c := range run {
		text += c.text
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	if shape(run[0].text) {
		drawShape(b, run[0].text, left, top, width, fore)
		return
	}
	style := ""
	if fore != foreground {
		style += ` fill="` + fore + `"`
	}
	if p.bold {
		style += ` font-weight="bold"`
	}
	if p.faint {
		style += ` opacity="0.6"`
	}
	cells := ansi.StringWidth(text)
	if cells > 1 {
		style += fmt.Sprintf(` textLength="%s"`, number(float64(cells)*cellWidth))
	}
	fmt.Fprintf(b, `<text x="%s" y="%s"%s>%s</text>`+"\n",
		number(left), number(top+13), style, html.EscapeString(text))
}

// drawShape draws blocks and lines of any width.
func drawShape(b *strings.Builder, s string, left, top, width float64, colour string) {
	middle, right := left+cellWidth/2, left+cellWidth
	centre, bottom := top+cellHeight/2, top+cellHeight
	corner := func(from, to string) {
		fmt.Fprintf(b, `<path d="M%s Q%s %s %s" fill="none" stroke="%s"/>`+"\n",
			from, number(middle), number(centre), to, colour)
	}
	at := func(x, y float64) string { return number(x) + " " + number(y) }
	switch s {
	case "─":
		rect(b, left, centre-0.5, width, 1, colour)
	case "━":
		rect(b, left, centre-1.5, width, 3, colour)
	case "╸":
		rect(b, left, centre-1.5, cellWidth/2, 3, colour)
	case "│":
		rect(b, middle-0.5, top, 1, cellHeight, colour)
	case "╭":
		corner(at(right, centre), at(middle, bottom))
	case "╮":
		corner(at(left, centre), at(middle, bottom))
	case "╯":
		corner(at(left, centre), at(middle, top))
	case "╰":
		corner(at(right, centre), at(middle, top))
	default:
		if eighths := strings.Index("▁▂▃▄▅▆▇█", s); eighths >= 0 {
			h := cellHeight * float64(eighths/len("▁")+1) / 8
			rect(b, left, bottom-h, width, h, colour)
		} else {
			rect(b, left, top, cellWidth*float64(strings.Index("▏▎▍▌▋▊▉", s)/len("▏")+1)/8, cellHeight, colour)
		}
	}
}

func rect(b *strings.Builder, x, y, width, height float64, colour string) {
	fmt.Fprintf(b, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n",
		number(x), number(y), number(width), number(height), colour)
}

func number(f float64) string { return strconv.FormatFloat(float64(int(f*10+0.5))/10, 'f', -1, 64) }

// parse splits a screen into rows of cells. Styles continue on the next line.
func parse(screen string) [][]cell {
	var rows [][]cell
	var p pen
	for line := range strings.SplitSeq(screen, "\n") {
		var row []cell
		state := byte(0)
		for len(line) > 0 {
			text, width, n, next := ansi.DecodeSequence(line, state, nil)
			state, line = next, line[n:]
			if width == 0 {
				if style, ok := strings.CutPrefix(text, "\x1b["); ok && strings.HasSuffix(style, "m") {
					p.set(strings.Split(strings.TrimSuffix(style, "m"), ";"))
				}
				continue
			}
			row = append(row, cell{text, p})
			for range width - 1 {
				row = append(row, cell{"", p})
			}
		}
		for len(row) > 0 && row[len(row)-1].text == " " && row[len(row)-1].back == "" && !row[len(row)-1].reverse {
			row = row[:len(row)-1]
		}
		rows = append(rows, row)
	}
	return rows
}

// set applies the parameters of a style sequence (SGR).
func (p *pen) set(parameters []string) {
	for i := 0; i < len(parameters); i++ {
		n, err := strconv.Atoi(parameters[i])
		switch {
		case err != nil, n == 0:
			*p = pen{}
		case n == 1:
			p.bold = true
		case n == 2:
			p.faint = true
		case n == 7:
			p.reverse = true
		case n == 22:
			p.bold, p.faint = false, false
		case n == 27:
			p.reverse = false
		case n >= 30 && n <= 37:
			p.fore = sixteen[n-30]
		case n >= 90 && n <= 97:
			p.fore = sixteen[n-82]
		case n >= 40 && n <= 47:
			p.back = sixteen[n-40]
		case n == 39:
			p.fore = ""
		case n == 49:
			p.back = ""
		case (n == 38 || n == 48) && i+4 < len(parameters) && parameters[i+1] == "2":
			var rgb [3]int
			for j := range rgb {
				rgb[j], _ = strconv.Atoi(parameters[i+2+j])
			}
			colour := fmt.Sprintf("#%02x%02x%02x", rgb[0], rgb[1], rgb[2])
			if n == 38 {
				p.fore = colour
			} else {
				p.back = colour
			}
			i += 4
		}
	}
}
