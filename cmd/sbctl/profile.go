package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/scoreboard/scoreboard/internal/suggest"
)

// config is ~/.config/sbctl/config.yaml. sbctl never writes it, so comments
// survive: the current profile is stored in a separate file.
type config struct {
	Profiles map[string]profile `yaml:"profiles"`
}

type profile struct {
	Server    string `yaml:"server"`
	KeyID     string `yaml:"key_id"`
	Token     secret `yaml:"token"`
	KeySecret secret `yaml:"key_secret"`
}

// secret is the source of a secret; the configuration file contains none.
type secret struct {
	Env     string   `yaml:"env"`
	File    string   `yaml:"file"`
	Command []string `yaml:"command"`
}

// secretTimeout limits a secret command, such as a password manager that prompts.
const secretTimeout = time.Minute

func (s secret) read(p *program) (string, error) {
	switch {
	case s.Env != "":
		if p.env[s.Env] == "" {
			return "", &hintedError{
				fmt.Errorf("the environment variable %s is not set", s.Env),
				fmt.Sprintf("export %s=…, or choose another profile (%s defines them)", s.Env, p.configPath()),
			}
		}
		return p.env[s.Env], nil
	case s.File != "":
		if rest, ok := strings.CutPrefix(s.File, "~/"); ok {
			s.File = filepath.Join(p.env["HOME"], rest)
		}
		if err := requirePrivateFile(s.File); err != nil {
			return "", err
		}
		b, err := os.ReadFile(s.File)
		return strings.TrimSpace(string(b)), err
	case len(s.Command) > 0:
		ctx, cancel := context.WithTimeout(context.Background(), secretTimeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
		cmd.Stderr = p.stderr
		b, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("run %s: %w", s.Command[0], err)
		}
		return strings.TrimSpace(string(b)), nil
	}
	return "", nil
}

func (p *program) configDir() string {
	base := p.env["XDG_CONFIG_HOME"]
	if base == "" {
		base = filepath.Join(p.env["HOME"], ".config")
	}
	return filepath.Join(base, "sbctl")
}

func (p *program) configPath() string { return filepath.Join(p.configDir(), "config.yaml") }

// currentProfilePath is the file that "sbctl profile use" writes.
func (p *program) currentProfilePath() string { return filepath.Join(p.configDir(), "profile") }

func (p *program) readConfig() (config, error) {
	var c config
	b, err := os.ReadFile(p.configPath())
	if os.IsNotExist(err) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(b))
	decoder.KnownFields(true) // a misspelt name must not look like a missing secret
	if err := decoder.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return c, fmt.Errorf("read %s: %w", p.configPath(), err)
	}
	return c, nil
}

// profileName returns the current profile, "" for none.
func (p *program) profileName() (string, error) {
	if p.profile != "" {
		return p.profile, nil
	}
	if name := p.env["SBCTL_PROFILE"]; name != "" {
		return name, nil
	}
	b, err := os.ReadFile(p.currentProfilePath())
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	return strings.TrimSpace(string(b)), nil
}

func (p *program) readProfile(name string) (profile, error) {
	c, err := p.readConfig()
	if err != nil {
		return profile{}, err
	}
	found, ok := c.Profiles[name]
	if !ok {
		return profile{}, &hintedError{
			fmt.Errorf("no profile %q in %s%s", name, p.configPath(),
				suggest.Closest(name, slices.Collect(maps.Keys(c.Profiles)), "")),
			"\"sbctl profile list\" lists the profiles",
		}
	}
	return found, nil
}

func newProfileCmd(p *program) *cobra.Command {
	return newNounCmd("profile", "Switch between servers", `
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
		Use: "use NAME", Short: "Select a profile; - selects none", Args: exactArgs("NAME"),
		Example: trimExamples(`
  sbctl profile use staging
  sbctl profile use -`),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "-" {
				if err := os.Remove(p.currentProfilePath()); err != nil && !os.IsNotExist(err) {
					return err
				}
				p.infof("no profile selected")
				return nil
			}
			if _, err := p.readProfile(args[0]); err != nil {
				return err
			}
			if err := os.MkdirAll(p.configDir(), 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(p.currentProfilePath(), []byte(args[0]+"\n"), 0o600); err != nil {
				return err
			}
			p.infof("profile %s selected", args[0])
			return nil
		},
	}
}
