// Command recorded is a provider for OpenTofu and Terraform that has the schemas of another
// one and does nothing: validate checks the arguments of every resource, and plan evaluates
// every expression, without the provider itself and without an account.
//
// The schemas are those of the bindings that CDK for Terraform generates from a provider, in
// the folder of RECORDED_AWS or RECORDED_RANDOM. Its binary has the name of the provider,
// terraform-provider-aws for instance.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/hashicorp/terraform-plugin-sdk/v2/plugin"
)

func main() {
	_, name, _ := strings.Cut(filepath.Base(os.Args[0]), "terraform-provider-")
	provider, err := record(name, os.Getenv("RECORDED_"+strings.ToUpper(name)))
	if err != nil {
		fmt.Fprintln(os.Stderr, "recorded:", err)
		os.Exit(1)
	}
	plugin.Serve(&plugin.ServeOpts{ProviderFunc: func() *schema.Provider { return provider }})
}

// record reads the bindings of a provider.
func record(name, lib string) (*schema.Provider, error) {
	p := &schema.Provider{
		ResourcesMap: map[string]*schema.Resource{}, DataSourcesMap: map[string]*schema.Resource{},
	}
	folders, err := os.ReadDir(lib)
	if err != nil {
		return nil, fmt.Errorf("read the bindings of %s: %w", name, err)
	}
	for _, f := range folders {
		if !f.IsDir() {
			continue
		}
		b, err := read(filepath.Join(lib, f.Name()))
		if err != nil {
			return nil, err
		}
		attributes, err := b.attributes(b.main)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		delete(attributes, "id") // every resource has one
		switch {
		case f.Name() == "provider":
			delete(attributes, "alias") // of the language
			p.Schema = attributes
		case strings.HasPrefix(f.Name(), "data-"):
			p.DataSourcesMap[b.resource] = &schema.Resource{Schema: attributes, ReadContext: invent}
		default:
			p.ResourcesMap[b.resource] = &schema.Resource{
				Schema: attributes, CustomizeDiff: planned[b.resource],
				CreateContext: refuse, ReadContext: refuse, UpdateContext: refuse, DeleteContext: refuse,
			}
		}
	}
	return p, nil
}

func refuse(context.Context, *schema.ResourceData, any) diag.Diagnostics {
	return diag.Errorf("this provider has schemas only: it can validate and plan")
}

// planned are what the real provider knows at the plan already.
var planned = map[string]schema.CustomizeDiffFunc{
	"aws_acm_certificate": func(_ context.Context, d *schema.ResourceDiff, _ any) error {
		return d.SetNew("domain_validation_options", []any{map[string]any{"domain_name": d.Get("domain_name")}})
	},
}

// invented are the values of data sources by attribute.
var invented = map[string]any{
	"names": []any{"zone-a", "zone-b", "zone-c"},
	"json":  `{"Version":"2012-10-17","Statement":[]}`,
}

func invent(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	d.SetId("invented")
	for name, value := range invented {
		if _, ok := d.GetOk(name); ok {
			continue
		}
		_ = d.Set(name, value) // most have no such attribute
	}
	return nil
}
