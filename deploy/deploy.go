// Package deploy embeds the alert rules of an installation, so that sbctl accept
// can check that they are loaded.
package deploy

import (
	_ "embed"
	"fmt"

	"gopkg.in/yaml.v3"
)

//go:embed prometheus/alerts.yml
var alerts []byte

// Alert is a rule of alerts.yml.
type Alert struct {
	Name   string            `yaml:"alert"`
	Expr   string            `yaml:"expr"`
	Labels map[string]string `yaml:"labels"`
	// Annotations are templates for people, and the runbook_url.
	Annotations map[string]string `yaml:"annotations"`
}

// Alerts returns the rules that Prometheus must load.
func Alerts() ([]Alert, error) {
	var file struct {
		Groups []struct {
			Rules []Alert `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.Unmarshal(alerts, &file); err != nil {
		return nil, fmt.Errorf("read the alert rules: %w", err)
	}
	var all []Alert
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all, nil
}
