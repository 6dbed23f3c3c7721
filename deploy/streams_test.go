package deploy

import (
	"maps"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/dialect"
)

// ingressPaths are the paths of each component in the chart's ingress.
func ingressPaths(t *testing.T, values map[string]any) map[string][]string {
	t.Helper()
	paths := map[string][]string{}
	for _, each := range values["ingress"].(map[string]any)["paths"].([]any) {
		path := each.(map[string]any)
		component := path["component"].(string)
		paths[component] = append(paths[component], path["path"].(string))
	}
	return paths
}

// terraformPaths are the paths of each component of the load balancer.
func terraformPaths(t *testing.T) map[string][]string {
	t.Helper()
	block := regexp.MustCompile(`(?s)components = \{(.*?)\}`).FindStringSubmatch(readText(t, terraform+"edge.tf"))
	if block == nil {
		t.Fatal("edge.tf has no components")
	}
	paths := map[string][]string{}
	for _, m := range regexp.MustCompile(`(\w+) += \[(.*)\]`).FindAllStringSubmatch(block[1], -1) {
		for _, quoted := range strings.Split(m[2], ", ") {
			paths[m[1]] = append(paths[m[1]], strings.Trim(quoted, `"`))
		}
	}
	return paths
}

// componentOf is the component of the longest prefix of a path, by whole elements, as an Ingress and
// the rules of the load balancer find it.
func componentOf(paths map[string][]string, path string) string {
	best, longest := "", -1
	for component, prefixes := range paths {
		for _, prefix := range prefixes {
			below := strings.HasPrefix(path, strings.TrimSuffix(prefix, "/")+"/")
			if (path == prefix || below) && len(prefix) > longest {
				best, longest = component, len(prefix)
			}
		}
	}
	return best
}

// Each edge sends requests for streams, and no others but their tickets, to the role gateway. The
// paths are those of the server's own table.
func TestEdgesKnowTheStreams(t *testing.T) {
	flags := func(name string) (string, bool) { return strings.Join(config.DialectNames, ","), name == "dialects" }
	c, _, err := config.Load(flags, func(string) (string, bool) { return "", false }, nil)
	if err != nil {
		t.Fatal(err)
	}
	streams := dialect.StreamPaths(&c.Dialects)
	if len(streams) != 5 {
		t.Fatalf("got the streams %q, want 5: two native ones, and one of each dialect but module", streams)
	}
	others := []string{
		"/", "/v1/leaderboard", "/v1/leaderboard/top", "/v1/scores/increment", "/v1/scores/update", "/leaderboard/top",
		"/leaderboard/streamer", "/leaderboard/alice", "/delta/v1/leaderboard/ws-token", "/delta/v1/leaderboard/top",
		"/b/global", "/b/global/top", "/embed/global", "/assets/board.js", "/v1/realtimes",
	}

	conf, err := os.ReadFile("nginx/scoreboard.conf")
	if err != nil {
		t.Fatal(err)
	}
	location := regexp.MustCompile(`location ~ (\S+) \{[^}]*proxy_pass http://scoreboard_gateway;`).FindSubmatch(conf)
	if location == nil {
		t.Fatal("nginx has no location of the gateways")
	}
	nginx := regexp.MustCompile(string(location[1]))

	large := largeValues(t)
	roles := func(component string) []any {
		return large["components"].(map[string]any)[component].(map[string]any)["roles"].([]any)
	}
	edges := map[string]func(path string) bool{
		"nginx": nginx.MatchString,
		"the chart": func(path string) bool {
			return slices.Contains(roles(componentOf(ingressPaths(t, large), path)), any("gateway"))
		},
		"Terraform": func(path string) bool { return componentOf(terraformPaths(t), path) == "gateway" },
	}
	for _, edge := range slices.Sorted(maps.Keys(edges)) {
		toGateway := edges[edge]
		for _, path := range streams {
			if path = strings.ReplaceAll(path, ":board", "global"); !toGateway(path) {
				t.Errorf("%s does not send %s to the role gateway", edge, path)
			}
		}
		for _, path := range others {
			if toGateway(path) {
				t.Errorf("%s sends %s to the role gateway, which does not serve it", edge, path)
			}
		}
	}

	// One component has all roles.
	small := overlay(readYAML(t, readText(t, "chart/values.yaml")), readYAML(t, readText(t, "chart/values-small.yaml")))
	for component := range ingressPaths(t, small) {
		one := small["components"].(map[string]any)[component].(map[string]any)
		if !slices.Contains(one["roles"].([]any), any("gateway")) {
			t.Errorf("the component %s of values-small.yaml serves no streams", component)
		}
	}
}

// Every values file for production has what the specifications ask for.
func TestProductionValues(t *testing.T) {
	for _, file := range []string{"small", "large"} {
		values := overlay(readYAML(t, readText(t, "chart/values.yaml")),
			readYAML(t, readText(t, "chart/values-"+file+".yaml")))
		settings := map[string]string{}
		for name, value := range values["settings"].(map[string]any) {
			settings[name], _ = value.(string)
		}
		flags := func(flag string) (string, bool) {
			for name, value := range settings {
				if config.FlagName(name) == flag {
					return value, true
				}
			}
			return "", false
		}
		c, _, err := config.Load(flags, func(string) (string, bool) { return "", false }, nil)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for what, ok := range map[string]bool{
			"an archive after 90 days (C, 10)":       c.Ledger.Archive != "" && c.Ledger.Keep.Hours() == 90*24,
			"a limit by address (C, 12)":             c.Limit.AddressPerMinute > 0,
			"a limit of anonymous clients (B)":       c.Limit.AnonymousPerMinute > 0,
			"a limit by user (A, B, C)":              c.Limit.UpdatesPerMinute == 10,
			"trusted proxies":                        len(c.TrustedProxies) > 0,
			"the anomaly rule of sizes (A)":          c.Anomaly.Size == "log",
			"the anomaly rule of frequencies (A)":    c.Anomaly.Frequency == "log",
			"the anomaly rule of amounts (B)":        c.Anomaly.Amount == "log",
			"the anomaly rule of locations (A)":      c.Anomaly.Travel == "log",
			"a frequency below the limit of updates": reachable(c),
		} {
			if !ok {
				t.Errorf("values-%s.yaml lacks %s", file, what)
			}
		}
		for _, network := range c.TrustedProxies {
			// Whoever is in it can claim any client address.
			if prefix, err := netip.ParsePrefix(network); err != nil || prefix.Bits() < 24 {
				t.Errorf("values-%s.yaml trusts all of %s as proxies", file, network)
			}
		}
		annotations := values["ingress"].(map[string]any)["annotations"].(map[string]any)
		if annotations["nginx.ingress.kubernetes.io/limit-rps"] == nil {
			t.Errorf("values-%s.yaml has no limit at the edge", file)
		}
	}
}

// reachable reports whether a user within the limit of updates can have as many events as the rule of
// frequencies allows, and one more: otherwise it never finds anything.
func reachable(c *config.Config) bool {
	l, q := &c.Limit, c.Anomaly.FrequencyMax
	events := float64(l.UpdatesPerMinute)*q.Per.Seconds()/l.UpdatesWindow.Seconds() + float64(l.UpdatesPerMinute)
	return l.UpdatesPerMinute == 0 || events > float64(q.N)
}
