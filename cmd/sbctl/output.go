package main

import "fmt"

// output is where results and messages go, and how they look.
type output struct {
	*process
	format  string // --output
	quiet   bool
	color   string
	repeats bool // prints one result after another

	style         style
	printedHeader bool // of CSV
}

// print writes a result: its table, or with --output the value itself. On a terminal a
// long table goes through the pager.
func (out *output) print(value any, table func() *table) error {
	if out.structured() {
		return out.printStructured(value)
	}
	t := table()
	if t.headings != nil && len(t.rows) == 0 {
		out.infof("no results")
	}
	return out.page(t.render(out.style))
}

// infof prints a message on stderr, unless --quiet.
func (out *output) infof(format string, args ...any) {
	if !out.quiet {
		fmt.Fprintf(out.stderr, format+"\n", escapeArgs(args)...)
	}
}

// ordinal is a rank in words: 1st, 2nd, 3rd, 11th, 82nd.
func ordinal(n int64) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

func yesOrNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
