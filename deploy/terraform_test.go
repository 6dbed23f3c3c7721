package deploy

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"gopkg.in/yaml.v3"

	"github.com/scoreboard/scoreboard/internal/redisurl"
)

const terraform = "terraform/aws/"

// readText returns a file, without its lines that are comments.
func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^\s*#.*$`).ReplaceAllString(string(text), "")
}

// readConfiguration returns all Terraform files as one.
func readConfiguration(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(terraform + "*.tf")
	if err != nil || len(files) == 0 {
		t.Fatalf("no Terraform files: %v", err)
	}
	var all strings.Builder
	for _, file := range files {
		all.WriteString(readText(t, file))
	}
	return all.String()
}

// find returns the sorted set of what the expression's first group matches.
func find(expression, text string) []string {
	set := map[string]bool{}
	for _, m := range regexp.MustCompile(expression).FindAllStringSubmatch(text, -1) {
		set[m[1]] = true
	}
	return slices.Sorted(maps.Keys(set))
}

func readYAML(t *testing.T, text string) map[string]any {
	t.Helper()
	var values map[string]any
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// overlay returns the values of both files, the second first.
func overlay(under, over map[string]any) map[string]any {
	all := maps.Clone(under)
	for key, value := range over {
		below, isMap := all[key].(map[string]any)
		if above, ok := value.(map[string]any); ok && isMap {
			value = overlay(below, above)
		}
		all[key] = value
	}
	return all
}

// largeValues are the values of the chart that the Terraform configuration is for.
func largeValues(t *testing.T) map[string]any {
	t.Helper()
	return overlay(readYAML(t, readText(t, "chart/values.yaml")), readYAML(t, readText(t, "chart/values-large.yaml")))
}

// unknownKeys returns the paths in values that the chart does not have. The keys of
// settings are those of docs/settings.md.
func unknownKeys(values, chart map[string]any, settings, path string) []string {
	var unknown []string
	for key, value := range values {
		at := path + key
		known, ok := chart[key]
		if path == "settings." {
			ok = strings.Contains(settings, "| `"+key+"` ")
		}
		if !ok {
			unknown = append(unknown, at)
			continue
		}
		below, isMap := known.(map[string]any)
		if nested, ok := value.(map[string]any); ok && isMap {
			unknown = append(unknown, unknownKeys(nested, below, settings, at+".")...)
		}
	}
	slices.Sort(unknown)
	return unknown
}

func TestTerraformValuesAreTheCharts(t *testing.T) {
	template := readText(t, terraform+"values.yaml.tftpl")
	settings := readText(t, "../docs/settings.md")
	values := readYAML(t, regexp.MustCompile(`\$\{[^}]*\}`).ReplaceAllString(template, "some"))
	if unknown := unknownKeys(values, largeValues(t), settings, ""); len(unknown) > 0 {
		t.Errorf("the chart has no values %q", unknown)
	}
	wrong := readYAML(t, "{ingres: 1, ingress: {hosts: 1}, settings: {kafka.tsl: 1}}")
	if got := unknownKeys(wrong, largeValues(t), settings, ""); len(got) != 3 {
		t.Errorf("of three unknown values, %q were found", got)
	}

	outputs := readText(t, terraform+"outputs.tf")
	call := outputs[strings.Index(outputs, "templatefile("):]
	call = call[:strings.Index(call, "\n  })")]
	given := find(`(?m)^    (\w+) +=`, call)
	wanted := find(`(\w+)\)?\}`, strings.Join(find(`(\$\{[^}]*\})`, template), "\n"))
	if !slices.Equal(given, wanted) {
		t.Errorf("the template is given %q and wants %q", given, wanted)
	}
}

func TestTerraformSecretsAreSettings(t *testing.T) {
	settings := readText(t, "../docs/settings.md")
	names := find(`(?m)^    (SCOREBOARD_\w+) +=`, readText(t, terraform+"secrets.tf"))
	for _, name := range names {
		if !strings.Contains(settings, "`"+name+"`") {
			t.Errorf("%s is not a setting", name)
		}
	}
	// Those that values.yaml demands.
	for _, name := range []string{
		"SCOREBOARD_POSTGRES_URL", "SCOREBOARD_REDIS_URL", "SCOREBOARD_AUTH_MASTER_KEY",
		"SCOREBOARD_POSTGRES_DIRECT_URL",
	} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is in no secret", name)
		}
	}
}

func TestTerraformURLsAreValid(t *testing.T) {
	secrets := readText(t, terraform+"secrets.tf")
	local := func(name string) string {
		found := find(`(?m)^  `+name+` += "(.*)"$`, secrets)
		if len(found) != 1 {
			t.Fatalf("secrets.tf has the values %q for %s", found, name)
		}
		return found[0]
	}
	database := strings.ReplaceAll(local("database"), "${local.session}", local("session"))
	some := regexp.MustCompile(`\$\{[^}]*\}`)
	for _, name := range []string{"postgres_url", "postgres_direct"} {
		url := some.ReplaceAllString(strings.ReplaceAll(local(name), "${local.database}", database), "1")
		c, err := pgconn.ParseConfig(url)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.ValidateConnect == nil || c.TLSConfig == nil || c.TLSConfig.InsecureSkipVerify || c.Password != "1" {
			t.Errorf("%s does not verify the server, or accepts a standby, or has no password", name)
		}
	}
	o, err := redisurl.Parse(some.ReplaceAllString(local("redis_url"), "1"))
	if err != nil {
		t.Fatal(err)
	}
	if o.TLSConfig == nil || !o.IsClusterMode || o.Password != "1" {
		t.Error("redis_url is not that of a cluster with TLS and a password")
	}
}

func TestTerraformReferencesExist(t *testing.T) {
	all := readConfiguration(t)
	declared := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(resource|data) "(\w+)" "(\w+)"`).FindAllStringSubmatch(all, -1) {
		name := m[2] + "." + m[3]
		if m[1] == "data" {
			name = "data." + name
		}
		if declared[name] {
			t.Errorf("%s is declared twice", name)
		}
		declared[name] = true
	}
	if len(declared) < 50 {
		t.Errorf("only %d resources were found", len(declared))
	}
	for _, name := range find(`\b((?:data\.)?(?:aws|random)_\w+\.\w+)`, all) {
		if !declared[name] {
			t.Errorf("%s is not declared", name)
		}
	}

	variables := find(`(?m)^variable "(\w+)"`, all)
	if used := find(`\bvar\.(\w+)`, all); !slices.Equal(variables, used) {
		t.Errorf("the variables are %q, and used are %q", variables, used)
	}
	var locals []string
	for _, m := range regexp.MustCompile(`(?ms)^locals \{$(.*?)^\}$`).FindAllStringSubmatch(all, -1) {
		locals = append(locals, find(`(?m)^  (\w+) +=`, m[1])...)
	}
	slices.Sort(locals)
	if used := find(`\blocal\.(\w+)`, all); !slices.Equal(locals, used) {
		t.Errorf("the locals are %q, and used are %q", locals, used)
	}
}

func TestTerraformRoutesAreTheIngress(t *testing.T) {
	want := ingressPaths(t, largeValues(t))
	edge := readText(t, terraform+"edge.tf")
	got := terraformPaths(t)
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the load balancer has the routes %v, the chart %v", got, want)
	}

	deployment := readText(t, "chart/templates/deployment.yaml")
	ports := regexp.MustCompile(`ports += \{ http = (\d+), ops = (\d+) \}`).FindStringSubmatch(edge)
	if ports == nil {
		t.Fatal("edge.tf has no ports")
	}
	for i, name := range []string{"http", "ops"} {
		if !strings.Contains(deployment, "name: "+name+", containerPort: "+ports[i+1]+"}") {
			t.Errorf("pods do not listen on %s for %s", ports[i+1], name)
		}
	}
}

// database.tf says that PostgreSQL accepts what all components open at their maximum.
func TestTerraformConnectionsSuffice(t *testing.T) {
	chart := largeValues(t)
	number := func(values any, path ...string) int {
		for _, key := range path {
			values = values.(map[string]any)[key]
		}
		n, err := strconv.Atoi(fmt.Sprint(values))
		if err != nil {
			t.Fatalf("%q: %v", path, err)
		}
		return n
	}
	each := find(`postgres\.max_conns. .*?\| number \| .(\d+).`, readText(t, "../docs/settings.md"))
	if len(each) != 1 {
		t.Fatalf("the default of postgres.max_conns is %q", each)
	}
	total := 0
	for _, c := range chart["components"].(map[string]any) {
		component, ok := c.(map[string]any)
		if !ok {
			continue // switched off
		}
		pods, connections := number(component, "replicas"), number(each[0])
		for _, scaler := range []string{"hpa", "keda"} {
			if component[scaler] != nil {
				pods = number(component, scaler, "max")
			}
		}
		if settings, ok := component["settings"].(map[string]any); ok && settings["postgres.max_conns"] != nil {
			connections = number(settings, "postgres.max_conns")
		}
		total += pods * connections
	}
	text, err := os.ReadFile(terraform + "database.tf")
	if err != nil {
		t.Fatal(err)
	}
	said := find(`# ([\d,]+), so no PgBouncer`, string(text))
	if len(said) != 1 || strings.ReplaceAll(said[0], ",", "") != strconv.Itoa(total) {
		t.Errorf("database.tf says %q, the chart opens %d connections", said, total)
	}
}

// Pods reach the networks of the backends on their ports, and the internet; Prometheus alone reads
// metrics. The values that Terraform outputs replace those of values-large.yaml, and are no looser.
func TestTerraformNetworksAreClosed(t *testing.T) {
	outputs, network := readText(t, terraform+"outputs.tf"), readText(t, terraform+"network.tf")
	policy := largeValues(t)["networkPolicy"].(map[string]any)
	for _, selector := range find(`\{(app\.kubernetes\.io/name: \w+)\}`, readText(t, "chart/values.yaml")) {
		name, value, _ := strings.Cut(selector, ": ")
		if !strings.Contains(outputs, fmt.Sprintf("podSelector       = { matchLabels = { %q = %q } }", name, value)) {
			t.Errorf("metrics are open to others than pods with %s", selector)
		}
	}
	var except []any
	for _, rule := range policy["egress"].([]any) {
		for _, to := range rule.(map[string]any)["to"].([]any) {
			if block, ok := to.(map[string]any)["ipBlock"].(map[string]any); ok && block["cidr"] == "0.0.0.0/0" {
				except = block["except"].([]any)
			}
		}
	}
	private := fmt.Sprintf("private_networks = [%s]", strings.Join(quoted(except), ", "))
	if len(except) != 5 || !strings.Contains(outputs, private) {
		t.Errorf("outputs.tf does not say %s", private)
	}
	start := strings.Index(outputs, "egress = jsonencode([")
	egress := outputs[start : start+strings.Index(outputs[start:], "\n    ])")]
	if rules, to := strings.Count(egress, "ports = ["), strings.Count(egress, "to    = [")+
		strings.Count(egress, ", to = ["); rules != to || rules < 4 {
		t.Errorf("%d of %d rules of egress say to where", to, rules)
	}
	if strings.Contains(egress, "var.network") || strings.Count(egress, `"0.0.0.0/0"`) != 1 ||
		!strings.Contains(egress, `{ cidr = "0.0.0.0/0", except = local.private_networks }`) {
		t.Errorf("egress is open to the whole network: %s", egress)
	}
	if got := find(`cidr_ipv4 += "([^"]*)"`, readConfiguration(t)); !slices.Equal(got, []string{"0.0.0.0/0"}) {
		t.Errorf("security groups are open to %q, want only the load balancer to everybody", got)
	}
	if !strings.Contains(network, "cidr_block        = local.backend_networks[count.index]") {
		t.Error("the backends are in other networks than those that pods reach")
	}
}

func quoted(values []any) (out []string) {
	for _, v := range values {
		out = append(out, fmt.Sprintf("%q", v))
	}
	return out
}

func TestTerraformReadmeNamesEachOutput(t *testing.T) {
	outputs := find(`(?m)^output "(\w+)"`, readConfiguration(t))
	readme, err := os.ReadFile(terraform + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	if named := find(`tofu output -raw (\w+)`, string(readme)); !slices.Equal(outputs, named) {
		t.Errorf("the outputs are %q, README.md names %q", outputs, named)
	}
	required := find(`(?s)variable "(\w+)" \{[^}]*?type +=[^\n]*\n\}`, readText(t, terraform+"variables.tf"))
	if set := find(`(?m)^ *(\w+) += "`, string(readme)); !slices.Equal(required, set) {
		t.Errorf("the required variables are %q, README.md sets %q", required, set)
	}
}
