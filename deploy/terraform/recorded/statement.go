package main

import "github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"

// statement is the part that our configuration uses of the statements of a firewall's rules.
// They nest in each other, so the bindings leave their schema out.
func statement() *schema.Schema {
	text := func() *schema.Schema { return &schema.Schema{Type: schema.TypeString, Required: true} }
	block := func(fields map[string]*schema.Schema) *schema.Schema {
		return &schema.Schema{
			Type: schema.TypeList, Optional: true, MaxItems: 1, Elem: &schema.Resource{Schema: fields},
		}
	}
	transformation := block(map[string]*schema.Schema{
		"priority": {Type: schema.TypeInt, Required: true}, "type": text(),
	})
	transformation.MaxItems = 0
	return block(map[string]*schema.Schema{
		"rate_based_statement": block(map[string]*schema.Schema{
			"limit":                 {Type: schema.TypeInt, Required: true},
			"evaluation_window_sec": {Type: schema.TypeInt, Optional: true},
			"aggregate_key_type":    {Type: schema.TypeString, Optional: true},
			"scope_down_statement": block(map[string]*schema.Schema{
				"regex_match_statement": block(map[string]*schema.Schema{
					"regex_string":        text(),
					"field_to_match":      block(map[string]*schema.Schema{"uri_path": block(map[string]*schema.Schema{})}),
					"text_transformation": transformation,
				}),
			}),
		}),
	})
}
