package main

import (
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"
)

func newProfileCmd(p *program) *cobra.Command {
	return newNounCmd("profile", "Choose among the servers you work with", `
  sbctl profile list
  sbctl profile use staging`,
		newProfileListCmd(p), newProfileUseCmd(p))
}

type profileRow struct {
	Name   string `json:"name"`
	Server string `json:"server"`
	InUse  bool   `json:"in_use"`
}

func newProfileListCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the profiles of ~/.config/sbctl/config.yaml", Args: takes(),
		Long: `List the profiles of ~/.config/sbctl/config.yaml, which looks like this:

  profiles:
    staging:
      server: https://scores.staging.example.com
      key_id: k_staging
      key_secret: {file: ~/.config/sbctl/staging.secret}   # mode 0600
      token: {command: [pass, show, scoreboard/staging]}
    local:
      server: http://127.0.0.1:8080
      token: {env: LOCAL_TOKEN}`,
		Example: trimExamples(`
  sbctl profile list
  sbctl profile list --output json`),
		RunE: func(*cobra.Command, []string) error {
			c, err := p.readConfig()
			if err != nil {
				return err
			}
			inUse, err := p.profileName()
			if err != nil {
				return err
			}
			rows := []profileRow{}
			for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
				rows = append(rows, profileRow{name, c.Profiles[name].Server, name == inUse})
			}
			return p.print(rows, func() *table {
				t := newTable("", "NAME", "SERVER")
				for _, row := range rows {
					mark := ""
					if row.InUse {
						mark = "*"
					}
					t.add(mark, row.Name, row.Server)
				}
				return t
			})
		},
	}
}

func newProfileUseCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Short: "Use a profile from now on; - uses none", Args: takes("NAME"),
		Example: trimExamples(`
  sbctl profile use staging
  sbctl profile use -`),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "-" {
				if err := os.Remove(p.inUsePath()); err != nil && !os.IsNotExist(err) {
					return err
				}
				p.say("no profile is in use")
				return nil
			}
			if _, err := p.readProfile(args[0]); err != nil {
				return err
			}
			if err := os.MkdirAll(p.configDir(), 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(p.inUsePath(), []byte(args[0]+"\n"), 0o600); err != nil {
				return err
			}
			p.say("profile %s is in use", args[0])
			return nil
		},
	}
}
