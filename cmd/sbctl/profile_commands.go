package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func newProfileCmd(p *program) *cobra.Command {
	return newNounCmd("profile", "Manage profiles: servers with their credentials", `
  sbctl profile add staging
  sbctl profile use staging`,
		newProfileAddCmd(p), newProfileShowCmd(p), newProfileListCmd(p), newProfileUseCmd(p),
		newProfileRemoveCmd(p))
}

type profileRow struct {
	Name   string `json:"name"`
	Server string `json:"server"`
	InUse  bool   `json:"in_use"`
}

func newProfileListCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the profiles in ~/.config/sbctl/config.yaml", Args: exactArgs(),
		Long: `List the profiles in ~/.config/sbctl/config.yaml, which looks like this:

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
			c, err := p.profiles.readConfig()
			if err != nil {
				return err
			}
			inUse, err := p.profiles.current()
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
		Use: "use NAME", Short: "Select a profile; - selects none", Args: exactArgs("NAME"),
		Example: trimExamples(`
  sbctl profile use staging
  sbctl profile use -`),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "-" {
				if err := os.Remove(p.profiles.currentPath()); err != nil && !os.IsNotExist(err) {
					return err
				}
				p.infof("no profile selected")
				return nil
			}
			if _, err := p.profiles.get(args[0]); err != nil {
				return err
			}
			if err := writePrivateFile(p.profiles.currentPath(), []byte(args[0]+"\n")); err != nil {
				return err
			}
			p.infof("profile %s selected", args[0])
			return nil
		},
	}
}

// profileDetail is a profile without its secrets: Token and KeySecret name their sources.
type profileDetail struct {
	Name      string `json:"name"`
	Server    string `json:"server"`
	Token     string `json:"token,omitempty"`
	KeyID     string `json:"key_id,omitempty"`
	KeySecret string `json:"key_secret,omitempty"`
	InUse     bool   `json:"in_use"`
}

// printProfile prints a profile and where its secrets are, never the secrets.
func printProfile(out *output, in *profiles, name string, of profile) error {
	inUse, err := in.current()
	if err != nil {
		return err
	}
	d := profileDetail{
		Name: name, Server: of.Server, Token: of.Token.String(), KeyID: of.KeyID, KeySecret: of.KeySecret.String(),
		InUse: name == inUse,
	}
	return out.print(d, func() *table {
		t := newTable()
		t.add("profile", d.Name)
		t.add("server", d.Server)
		t.add("token", cmp.Or(d.Token, "none"))
		t.add("key", cmp.Or(d.KeyID, "none"))
		if d.KeyID != "" {
			t.add("secret", cmp.Or(d.KeySecret, "none"))
		}
		t.add("in use", yesOrNo(d.InUse))
		return t
	})
}

func newProfileShowCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "show [NAME]", Short: "Show a profile and where its secrets are, by default the one in use",
		Args: atMostOne,
		Example: trimExamples(`
  sbctl profile show
  sbctl profile show staging --output json`),
		RunE: func(_ *cobra.Command, args []string) error {
			name, err := p.profiles.current()
			if err != nil {
				return err
			}
			if len(args) > 0 {
				name = args[0]
			}
			if name == "" {
				return &hintedError{
					errors.New("no profile is in use"),
					"\"sbctl profile list\" lists the profiles, \"sbctl profile use NAME\" selects one",
				}
			}
			found, err := p.profiles.get(name)
			if err != nil {
				return err
			}
			return printProfile(p.output, p.profiles, name, found)
		},
	}
}

func newProfileRemoveCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a profile and the secrets that were stored for it", Args: exactArgs("NAME"),
		Example: trimExamples(`
  sbctl profile remove staging
  sbctl profile remove staging --yes`),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			old, err := p.profiles.get(name)
			if err != nil {
				return err
			}
			where := fmt.Sprintf("profile %s of %s, for %s", name, p.profiles.configPath(), old.Server)
			if err := p.confirmOn(cmd.Context(), where, "Remove it with its stored secrets?"); err != nil {
				return err
			}
			if err := p.profiles.put(name, nil); err != nil {
				return err
			}
			if profileNames.MatchString(name) { // else it was written by hand, and no file is its own
				if err := p.profiles.dropSecrets(name); err != nil {
					return err
				}
			}
			p.infof("profile %s is removed", name)
			selected, err := os.ReadFile(p.profiles.currentPath())
			if err == nil && strings.TrimSpace(string(selected)) == name {
				p.infof("no profile selected")
				err = os.Remove(p.profiles.currentPath())
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		},
	}
}
