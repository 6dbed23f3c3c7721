package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// helm returns the program with which .ci/chart renders the chart. Like that check, what needs it runs in make proof.
func helm(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("../.cache/bin/helm-v*")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		if os.Getenv("SCOREBOARD_PROOF") == "1" {
			t.Fatal("helm is missing: .ci/proof builds it")
		}
		t.Skip("helm is missing: .ci/chart builds it, and make proof runs this")
	}
	return found[len(found)-1]
}

// As the chart renders them, the network policies let only Prometheus reach the metrics, and nobody
// any other port but the API's; the large installation lets only the ingress reach that.
func TestNetworkPoliciesAreClosed(t *testing.T) {
	t.Parallel()
	program := helm(t)
	for name, files := range map[string][]string{
		"default": {}, "small": {"values-small.yaml"}, "large": {"values-large.yaml"},
		"canary": {"values-large.yaml", "values-canary.yaml"},
	} {
		args := []string{"template", name, "chart", "--kube-version", "v1.36.0"}
		for _, file := range files {
			args = append(args, "-f", "chart/"+file)
		}
		rendered, err := exec.CommandContext(t.Context(), program, args...).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		policies := 0
		for _, text := range strings.Split(string(rendered), "\n---\n") {
			if !strings.Contains(text, "kind: NetworkPolicy") {
				continue
			}
			policies++
			checkPolicy(t, name, readYAML(t, text)["spec"].(map[string]any))
		}
		if policies != 1 {
			t.Errorf("%s: %d network policies, want 1", name, policies)
		}
	}
}

func checkPolicy(t *testing.T, name string, spec map[string]any) {
	t.Helper()
	ports := map[int]bool{}
	for _, each := range spec["ingress"].([]any) {
		rule := each.(map[string]any)
		from, _ := rule["from"].([]any)
		opened, _ := rule["ports"].([]any)
		if len(opened) != 1 {
			t.Errorf("%s: a rule opens %v, want one port", name, opened)
			continue
		}
		port, _ := opened[0].(map[string]any)["port"].(int)
		ports[port] = true
		selectors, closed := 0, true
		for _, peer := range from {
			pods, _ := peer.(map[string]any)["podSelector"].(map[string]any)
			namespaces, _ := peer.(map[string]any)["namespaceSelector"].(map[string]any)
			labels, _ := pods["matchLabels"].(map[string]any)
			closed = closed && len(labels) > 0 && labels["app.kubernetes.io/name"] == "prometheus"
			if len(namespaces) > 0 {
				selectors++
			}
		}
		switch {
		case port == 8081 && (len(from) == 0 || !closed || selectors != len(from)):
			t.Errorf("%s: metrics are open to %v, want Prometheus alone", name, from)
		case port == 8080 && name == "large" && (len(from) == 0 || selectors != len(from)):
			t.Errorf("%s: the API is open to %v, want the ingress alone", name, from)
		}
	}
	if len(ports) != 2 || !ports[8080] || !ports[8081] {
		t.Errorf("%s: the open ports are %v", name, ports)
	}
	if name == "default" || name == "small" {
		return
	}
	reached := map[int]bool{}
	for _, each := range spec["egress"].([]any) {
		rule := each.(map[string]any)
		opened, _ := rule["ports"].([]any)
		if len(opened) == 0 {
			t.Errorf("%s: pods reach any port of %v", name, rule["to"])
		}
		for _, one := range opened {
			first := one.(map[string]any)["port"].(int)
			last, _ := one.(map[string]any)["endPort"].(int)
			for port := first; port <= max(first, last); port++ {
				reached[port] = true
			}
		}
	}
	for what, port := range map[string]int{
		"PostgreSQL": 5432, "Redis": 6379, "Kafka": 9092, "the collector of traces": 4318, "the archive": 443,
	} {
		if !reached[port] {
			t.Errorf("%s: pods do not reach %s", name, what)
		}
	}
}
