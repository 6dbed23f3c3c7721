package docs

import (
	"bytes"
	"html/template"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// heading is a line of a page's list of sections.
type heading struct{ ID, Title string }

// minContents is the number of sections from which on a page lists them.
const minContents = 4

// renderMarkdown renders a file. Links to other files of sources become links to their
// pages. Other links into the repository become text: they are not served.
func renderMarkdown(source fs.FS, at, name string, sources map[string]string) (*page, error) {
	markdown, err := fs.ReadFile(source, at)
	if err != nil {
		return nil, err
	}
	// An attribute, because the policy forbids the styles that are the default.
	align := extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)
	m := goldmark.New(
		goldmark.WithExtensions(extension.NewTable(align), extension.Strikethrough),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(nodes{}, 100))),
	)
	tree := m.Parser().Parse(text.NewReader(markdown), parser.WithContext(parser.NewContext(parser.WithIDs(anchors{}))))
	pages := make(map[string]string, len(sources)) // names by path
	for name, at := range sources {
		pages[at] = name
	}
	if err := relink(tree, markdown, path.Dir(at), pages); err != nil {
		return nil, err
	}
	p := &page{Name: name, Title: name}
	p.readSections(tree, markdown)
	var b bytes.Buffer
	if err := m.Renderer().Render(&b, markdown, tree); err != nil {
		return nil, err
	}
	p.content = template.HTML(b.String()) //nolint:gosec // goldmark escapes, and leaves out the HTML of the source
	return p, nil
}

// relink points the links and pictures of a file in a folder of the repository to pages.
func relink(tree ast.Node, markdown []byte, folder string, pages map[string]string) error {
	var gone []*ast.Link
	err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			target, ok := linked(string(n.Destination), folder, pages)
			if !ok {
				gone = append(gone, n)
			}
			n.Destination = []byte(target)
		case *ast.Image:
			n.Destination = []byte(path.Base(string(n.Destination)))
		}
		return ast.WalkContinue, nil
	})
	for _, link := range gone {
		parent := link.Parent()
		for child := link.FirstChild(); child != nil; child = link.FirstChild() {
			parent.InsertBefore(parent, link, child)
		}
		parent.RemoveChild(parent, link)
	}
	return err
}

// linked returns where a link of a file leads on the site; false if nowhere.
func linked(to, folder string, pages map[string]string) (string, bool) {
	if strings.HasPrefix(to, "#") || strings.Contains(to, "://") {
		return to, true
	}
	file, fragment, _ := strings.Cut(to, "#")
	name, ok := pages[path.Join(folder, file)]
	if fragment != "" {
		name += "#" + fragment
	}
	return name, ok
}

// readSections reads the title, the list of sections and the search index of a page.
func (p *page) readSections(tree ast.Node, markdown []byte) {
	current := section{}
	end := func() {
		if current.Text = strings.Join(strings.Fields(current.Text), " "); current.Text != "" || current.ID != "" {
			p.sections = append(p.sections, current)
		}
	}
	listed := false
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			current.Text += " " + plain(n, markdown)
			continue
		}
		end()
		title := strings.TrimSpace(plain(h, markdown))
		id, _ := h.AttributeString("id")
		anchor, _ := id.([]byte)
		current = section{ID: string(anchor), Heading: title}
		switch {
		case h.Level == 1:
			p.Title, current.ID = title, ""
		case h.Level == 2:
			p.contents = append(p.contents, heading{ID: string(anchor), Title: title})
			listed = listed || title == "Contents"
		}
	}
	if end(); listed || len(p.contents) < minContents {
		p.contents = nil
	}
}

// plain is the text of a node without markup.
func plain(n ast.Node, markdown []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function never fails
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(markdown))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.AutoLink:
			if entering {
				b.Write(n.Label(markdown))
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				b.Write(n.Lines().Value(markdown))
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// anchors makes the ids of headings as GitHub does, so that the same links work there
// and here.
type anchors map[string]int

// Generate returns a new id.
func (a anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(string(value)))
	n := a[id]
	a[id]++
	if n > 0 {
		id += "-" + strconv.Itoa(n)
	}
	return []byte(id)
}

// Put does nothing: no heading of ours sets its own id.
func (a anchors) Put([]byte) {}

// nodes renders headings with a link to themselves, and tables that scroll on their own.
type nodes struct{}

// RegisterFuncs says which nodes it renders.
func (nodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, func(
		w util.BufWriter, _ []byte, n ast.Node, entering bool,
	) (ast.WalkStatus, error) {
		h := n.(*ast.Heading)
		level := strconv.Itoa(h.Level)
		attribute, _ := h.AttributeString("id")
		id, _ := attribute.([]byte)
		if entering {
			_, _ = w.WriteString("<h" + level + ` id="`)
			_, _ = w.Write(util.EscapeHTML(id))
			_, _ = w.WriteString(`">`)
			return ast.WalkContinue, nil
		}
		if h.Level > 1 {
			_, _ = w.WriteString(` <a class="anchor" href="#`)
			_, _ = w.Write(util.EscapeHTML(id))
			_, _ = w.WriteString(`" aria-label="link to this section">#</a>`)
		}
		_, _ = w.WriteString("</h" + level + ">\n")
		return ast.WalkContinue, nil
	})
	r.Register(tables.KindTable, func(
		w util.BufWriter, _ []byte, _ ast.Node, entering bool,
	) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString("<div class=\"wide\"><table>\n")
		} else {
			_, _ = w.WriteString("</table></div>\n")
		}
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindImage, func(
		w util.BufWriter, source []byte, n ast.Node, entering bool,
	) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString(`<img loading="lazy" src="`)
			_, _ = w.Write(util.EscapeHTML(n.(*ast.Image).Destination))
			_, _ = w.WriteString(`" alt="`)
			_, _ = w.Write(util.EscapeHTML([]byte(plain(n, source))))
			_, _ = w.WriteString(`">`)
		}
		return ast.WalkSkipChildren, nil
	})
}
