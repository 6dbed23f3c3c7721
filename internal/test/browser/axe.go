package browser

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// axe is axe-core 4.14.1 by Deque Systems, from its package on npm (MPL-2.0).
//
//go:embed axe.js
var axe string

// AccessibilityProblems returns what axe-core finds wrong with the page that is shown, one
// line for each rule and place. Text in the color of its background is one, too: axe-core leaves
// it undecided (equalRatio), because it may be hidden on purpose.
func AccessibilityProblems(ctx context.Context) ([]string, error) {
	const ask = `axe.run(document, {resultTypes: ["violations", "incomplete"]}).then(found => {
		const invisible = found.incomplete.map(rule => ({...rule, nodes: rule.nodes.filter(node =>
			node.any.some(check => check.data?.messageKey === "equalRatio"))}))
		return [...found.violations, ...invisible].flatMap(rule => rule.nodes.map(node =>
			rule.id + ": " + node.target.join(" ") + ": " + node.failureSummary.replaceAll("\n", " ")))
	})`
	var loaded bool
	var problems []string
	err := chromedp.Run(
		ctx,
		chromedp.Evaluate(axe+"; typeof axe.run === 'function'", &loaded),
		chromedp.Evaluate(ask, &problems, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
			return p.WithAwaitPromise(true)
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("look for accessibility problems: %w", err)
	}
	for i, p := range problems {
		problems[i] = strings.TrimSpace(p)
	}
	return problems, nil
}
