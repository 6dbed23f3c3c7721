package config

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Source says where a value came from.
type Source string

// Sources, by falling precedence.
const (
	FromStore   Source = "store" // see With
	FromFlag    Source = "flag"
	FromEnv     Source = "environment" // followed by a colon and the name where that is an alias
	FromFile    Source = "file"
	FromDefault Source = "default"
)

// Value is one setting as it is in force. A secret's text is masked.
type Value struct {
	Name    string `json:"name"`
	Text    string `json:"value"`
	Source  Source `json:"source"`
	Meaning string `json:"meaning"`
}

// Mask replaces the value of a secret.
const Mask = "********"

// shown returns the text of a setting without secrets: those of URLs are before the host, as in
// s3://KEY:SECRET@bucket, and in the query, as in https://host/jwks?token=SECRET.
func (s *setting) shown(text string) string {
	if s.kind == secret && text != "" {
		return Mask
	}
	text = userInfo.ReplaceAllString(text, "${1}"+Mask+"@")
	if i := strings.Index(text, "://"); i >= 0 {
		text = text[:i] + queryValue.ReplaceAllString(text[i:], "${1}"+Mask)
	}
	return text
}

// Up to the last @ of a word: a password may contain a slash or an @.
var userInfo = regexp.MustCompile(`(://)[^\s,]*@`)

var queryValue = regexp.MustCompile(`([?&][^\s,&=#]*=)[^\s,&#]+`)

// Shown returns the text of a setting without secrets, for logs and the audit trail.
func Shown(name, text string) string {
	var c Config
	table := c.settings()
	i := slices.IndexFunc(table, func(s setting) bool { return s.name == name })
	if i < 0 {
		return Mask
	}
	return table[i].shown(text)
}

// Secrets returns the names of the secrets that have a source.
func Secrets(values []Value, source Source) (names []string) {
	for _, v := range values {
		if v.Source == source && v.Text == Mask {
			names = append(names, v.Name)
		}
	}
	return names
}

// setting is one row of the table of settings.
type setting struct {
	name    string
	meaning string
	value   string // the default
	kind    kind
	// *string, *int, *bool, *time.Duration, *int64, *float64, *[]string, *[]netip.Prefix,
	// *scoreboard.Rules or *scoreboard.Quota
	to any
}

type kind int

const (
	fixed  kind = iota // set when the process starts
	secret             // fixed, and never shown
	live               // operators can change it while the daemon runs
)

// Lookup returns a text and whether it is set.
type Lookup func(name string) (string, bool)

// FlagName is the name of a setting on the command line.
func FlagName(setting string) string { return strings.NewReplacer(".", "-", "_", "-").Replace(setting) }

// EnvName is the name of a setting in the environment.
func EnvName(setting string) string {
	return "SCOREBOARD_" + strings.ToUpper(strings.ReplaceAll(setting, ".", "_"))
}

// Defaults lists the settings with their defaults, for the help.
func Defaults() []Value {
	var values []Value
	for _, s := range new(Config).settings() {
		values = append(values, Value{s.name, s.value, FromDefault, s.meaning})
	}
	return values
}

// EnvNames lists the names of all settings in the environment.
func EnvNames() []string {
	var names []string
	for _, s := range new(Config).settings() {
		names = append(names, EnvName(s.name))
	}
	return names
}

// UnknownVariables returns the variables of an environment that start with SCOREBOARD_
// and name no setting. It leaves out those that orchestrators set for a service
// called scoreboard (SCOREBOARD_PORT…, SCOREBOARD_SERVICE…) and those of the
// tests (SCOREBOARD_TEST_…, SCOREBOARD_PROOF).
func UnknownVariables(environ []string) []string {
	known := EnvNames()
	var names []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		rest, ours := strings.CutPrefix(name, "SCOREBOARD_")
		if !ours || slices.Contains(known, name) || rest == "PROOF" {
			continue
		}
		foreign := func(prefix string) bool { return strings.HasPrefix(rest, prefix) }
		if !slices.ContainsFunc([]string{"PORT", "SERVICE_", "TEST_"}, foreign) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Load reads every setting. flags and env are looked up by FlagName and EnvName, and
// env by the names of an enabled dialect's specification; file, which may be nil, is YAML
// of setting names. The error is an InvalidError
// unless the file cannot be read; the configuration is returned with it.
func Load(flags, env Lookup, file io.Reader) (*Config, []Value, error) {
	c := &Config{}
	table := c.settings()
	var p problems
	inFile, err := readFile(file, table, &p)
	if err != nil {
		return nil, nil, err
	}
	find := func(s setting, aliases map[string]alias) (string, Source) {
		if t, ok := flags(FlagName(s.name)); ok {
			return withoutLineEnd(t), FromFlag
		}
		if t, ok := env(EnvName(s.name)); ok {
			return withoutLineEnd(t), FromEnv
		}
		if a, ok := aliases[s.name]; ok {
			if t, ok := env(a.name); ok {
				return a.text(withoutLineEnd(t)), FromEnv + ": " + Source(a.name)
			}
		}
		if t, ok := inFile[s.name]; ok {
			return withoutLineEnd(t), FromFile
		}
		return s.value, FromDefault
	}
	enabled, _ := find(c.Dialects.settings()[0], nil)
	aliases := aliasesOf(list(enabled))
	for _, s := range table {
		text, source := find(s, aliases)
		if err := parse(s.to, text); err != nil {
			p.add(s.name, "%s (from the %s)", err, source)
			_ = parse(s.to, s.value) // a default parses
		}
		c.values = append(c.values, Value{s.name, s.shown(text), source, s.meaning})
	}
	c.check(&p)
	if c.Transport == TransportDirect && c.Has(RoleRelay) != c.Has(RoleProjector) {
		p.add("transport", "must not be direct unless the roles relay and projector are in one process")
	}
	if c.Transport == TransportDirect && c.Has(RoleMirror) {
		p.add("transport", "must not be direct with the role mirror: it has no records that a mirror could read")
	}
	return c, c.Values(), p.err()
}

func readFile(file io.Reader, table []setting, p *problems) (map[string]string, error) {
	if file == nil {
		return nil, nil
	}
	values := make(map[string]fileValue)
	if err := yaml.NewDecoder(file).Decode(&values); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the configuration file: %w", err)
	}
	found := make(map[string]string, len(values))
	for name, value := range values {
		found[name] = string(value)
	}
	var names []string
	for _, s := range table {
		names = append(names, s.name)
	}
	for name := range found {
		if !slices.Contains(names, name) {
			p.add(name, "is unknown (from the %s)%s", FromFile, english.Closest(name, names, ""))
		}
	}
	return found, nil
}

// fileValue is a value of the file: a scalar, or a list of scalars without commas.
type fileValue string

// UnmarshalYAML implements yaml.Unmarshaler.
func (v *fileValue) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.SequenceNode {
		return node.Decode((*string)(v))
	}
	var parts []string
	if err := node.Decode(&parts); err != nil {
		return err
	}
	for _, part := range parts {
		if strings.Contains(part, ",") {
			return fmt.Errorf("line %d: %q: a comma separates the parts of a list", node.Line, part)
		}
	}
	*v = fileValue(strings.Join(parts, ","))
	return nil
}

// parse reads a setting's text. The errors of Go's parsers are replaced: they
// are written for programmers.
func parse(to any, text string) (err error) {
	want := ""
	switch to := to.(type) {
	case *string:
		*to = text
	case *int:
		*to, err = strconv.Atoi(text)
		want = "a whole number"
	case *bool:
		*to, err = strconv.ParseBool(text)
		want = "true or false"
	case *time.Duration:
		*to, err = time.ParseDuration(text)
		want = "a duration such as 500ms, 30s or 15m"
	case *[]string:
		*to = list(text)
	case *[]netip.Prefix:
		*to, err = networks(text)
		want = "a list of networks such as 10.0.0.0/8,fd00::/8"
	case *int64:
		*to, err = strconv.ParseInt(text, 10, 64)
		want = "a whole number"
	case *float64:
		*to, err = strconv.ParseFloat(text, 64)
		want = "a number such as 0.01"
	case *scoreboard.Rules:
		*to, err = scoreboard.ParseRules(list(text))
	case *scoreboard.Quota:
		*to, err = scoreboard.ParseQuota(text)
	default:
		err = fmt.Errorf("cannot be a %T", to)
	}
	switch {
	case err == nil:
		return nil
	case want != "":
		return fmt.Errorf("must be %s, not %q", want, text)
	default:
		return fmt.Errorf("is invalid: %w", err)
	}
}

// networks parses a list of networks.
func networks(text string) (parsed []netip.Prefix, err error) {
	for _, part := range list(text) {
		network, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, network.Masked())
	}
	return parsed, nil
}

// withoutLineEnd takes off what files of Windows, secret stores and blocks of YAML leave behind
// a value.
func withoutLineEnd(text string) string { return strings.TrimRight(text, "\r\n") }

// list splits at commas and drops empty parts.
func list(text string) []string {
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
