package deploy

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// README.md says each probe, budget and grace of the chart.
func TestReadmeHasTheChartsTimes(t *testing.T) {
	t.Parallel()
	readme := readText(t, "README.md")
	deployment := readText(t, "chart/templates/deployment.yaml")
	probe := regexp.MustCompile(`(?s)(startup|readiness|liveness)Probe:\s+httpGet: \{path: (\S+), port: ops\}\s+` +
		`periodSeconds: (\d+)\s+(?:timeoutSeconds: (\d+)\s+)?failureThreshold: (\d+)`)
	probes := probe.FindAllStringSubmatch(deployment, -1)
	if len(probes) != 3 {
		t.Fatalf("found %d probes, want 3", len(probes))
	}
	var rows []string
	for _, p := range probes {
		timeout := ""
		if p[4] != "" {
			timeout = fmt.Sprintf(", at most %s s", p[4])
		}
		rows = append(rows, fmt.Sprintf("| %s probe | `%s` every %s s%s, %s times |", p[1], p[2], p[3], timeout, p[5]))
	}
	one := func(file, expression string) string {
		m := regexp.MustCompile(expression).FindStringSubmatch(readText(t, file))
		if m == nil {
			t.Fatalf("%s has no %s", file, expression)
		}
		return m[1]
	}
	grace := `\nterminationGracePeriodSeconds: (\d+)`
	rows = append(rows,
		fmt.Sprintf("| disruption budget | %s pod of a component |", one("chart/values.yaml", `maxUnavailable: (\d+)`)),
		fmt.Sprintf("| `terminationGracePeriodSeconds` | %s s; %s s in `values-large.yaml` |",
			one("chart/values.yaml", grace), one("chart/values-large.yaml", grace)),
		fmt.Sprintf("| migration | %s tries, ", one("chart/templates/migrate.yaml", `backoffLimit: (\d+)`)),
	)
	for _, row := range rows {
		if !strings.Contains(readme, row) {
			t.Errorf("README.md lacks the row %s…", row)
		}
	}
}
