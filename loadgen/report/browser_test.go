package report

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/scoreboard/scoreboard/internal/test/browser"
)

// A drag over one chart zooms all charts over time, and a double-click shows the whole run.
// The chart under the pointer shows its values.
func TestChartsAreZoomedTogether(t *testing.T) {
	t.Parallel()
	ctx := browser.New(t, 90*time.Second)
	r, _, err := Make(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	r.Timeline[4].P99 = 987.62 // a value that no other chart has
	dir := t.TempDir()
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	var box []float64 // of the first chart: x, y, width, height
	mouse := func(event func(x, y float64) chromedp.MouseAction, at float64) chromedp.Action {
		return chromedp.ActionFunc(func(ctx context.Context) error {
			return event(box[0]+at*box[2], box[1]+box[3]/2).Do(ctx)
		})
	}
	move := func(x, y float64) chromedp.MouseAction { return chromedp.MouseEvent("mouseMoved", x, y) }
	press := func(x, y float64) chromedp.MouseAction {
		return chromedp.MouseEvent("mousePressed", x, y, chromedp.ButtonLeft, chromedp.ClickCount(1))
	}
	drag := func(x, y float64) chromedp.MouseAction {
		return chromedp.MouseEvent("mouseMoved", x, y, chromedp.ButtonLeft)
	}
	release := func(x, y float64) chromedp.MouseAction {
		return chromedp.MouseEvent("mouseReleased", x, y, chromedp.ButtonLeft, chromedp.ClickCount(1))
	}
	double := func(x, y float64) chromedp.MouseAction {
		return chromedp.MouseClickXY(x, y, chromedp.ClickCount(2))
	}
	type view struct {
		Spans   []string // the distinct spans of all charts over time
		Labels  []string // their distinct labels
		Toolbar string
		Tips    []string
	}
	const read = `(() => {
		const distinct = (of) => [...new Set([...document.querySelectorAll(".time")].map(of))];
		const toolbar = document.querySelector(".zoom");
		return {
			spans: distinct((c) => c.querySelector("svg").getAttribute("viewBox")),
			labels: distinct((c) => [...c.querySelectorAll(".x span")].map((l) => l.textContent).join(", ")),
			toolbar: toolbar.hidden ? "" : toolbar.querySelector("span").textContent,
			tips: [...document.querySelectorAll(".tip:not([hidden])")].map((t) => t.textContent),
		};
	})()`
	var before, hovered, zoomed, whole view
	err = chromedp.Run(ctx,
		chromedp.Navigate("file://"+filepath.Join(dir, "report.html")),
		chromedp.Evaluate(`(() => {
			const chart = document.querySelector(".time");
			chart.scrollIntoView({block: "center"});
			const b = chart.getBoundingClientRect();
			return [b.x, b.y, b.width, b.height];
		})()`, &box),
		chromedp.Evaluate(read, &before),
		mouse(move, 0.4),
		chromedp.Evaluate(read, &hovered),
		mouse(press, 0.2), mouse(drag, 0.4), mouse(drag, 0.6), mouse(release, 0.6),
		chromedp.Evaluate(read, &zoomed),
		mouse(double, 0.5),
		chromedp.Evaluate(read, &whole),
	)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		got                   view
		span, labels, toolbar string
	}{
		"before": {before, "0 0 100 1000", "0 s, 2 s, 4 s, 6 s, 8 s, 10 s", ""},
		"zoomed": {zoomed, "20 0 40 1000", "2 s, 3 s, 4 s, 5 s, 6 s", "Showing 2 s to 6 s. "},
		"whole":  {whole, "0 0 100 1000", "0 s, 2 s, 4 s, 6 s, 8 s, 10 s", ""},
	} {
		if g := c.got; len(g.Spans) != 1 || g.Spans[0] != c.span || len(g.Labels) != 1 || g.Labels[0] != c.labels ||
			g.Toolbar != c.toolbar {
			t.Errorf("%s: got %+v", name, g)
		}
	}
	if len(hovered.Tips) != 1 || !strings.HasPrefix(hovered.Tips[0], "4 s") ||
		!strings.Contains(hovered.Tips[0], "p99: 987.6 ms") {
		t.Errorf("got the tooltips %q", hovered.Tips)
	}
}
