package main

import "fmt"

// print writes a result: its table, or with --output the value itself. On a terminal a
// long table goes through the pager.
func (p *program) print(value any, table func() *table) error {
	if p.structured() {
		return p.printStructured(value)
	}
	t := table()
	if t.headings != nil && len(t.rows) == 0 {
		p.infof("no results")
	}
	return p.page(t.render(p.style))
}

// infof prints a message on stderr, unless --quiet.
func (p *program) infof(format string, args ...any) {
	if !p.quiet {
		fmt.Fprintf(p.stderr, format+"\n", escapeArgs(args)...)
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
