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

	"gopkg.in/yaml.v3"

	"github.com/scoreboard/scoreboard/internal/english"
)

// config is ~/.config/sbctl/config.yaml. The current profile is stored in a separate
// file.
type config struct {
	Profiles map[string]profile `yaml:"profiles"`
}

type profile struct {
	Server    string `yaml:"server"`
	KeyID     string `yaml:"key_id,omitempty"`
	Token     secret `yaml:"token,omitempty"`
	KeySecret secret `yaml:"key_secret,omitempty"`
}

// profiles are those of the configuration folder.
type profiles struct {
	*process
	chosen string // --profile
}

// secret is the source of a secret; the configuration file contains none.
type secret struct {
	Env     string   `yaml:"env,omitempty"`
	File    string   `yaml:"file,omitempty"`
	Command []string `yaml:"command,omitempty,flow"`
}

// String names the source; "" if there is none.
func (s secret) String() string {
	switch {
	case s.Env != "":
		return "variable " + s.Env
	case s.File != "":
		return "file " + s.File
	case len(s.Command) > 0:
		return "command " + strings.Join(s.Command, " ")
	}
	return ""
}

// secretTimeout limits a secret command, such as a password manager that prompts.
const secretTimeout = time.Minute

func (s secret) read(ps *profiles) (string, error) {
	switch {
	case s.Env != "":
		if ps.env[s.Env] == "" {
			return "", &hintedError{
				fmt.Errorf("the environment variable %s is not set", s.Env),
				fmt.Sprintf("export %s=…, or choose another profile (%s defines them)", s.Env, ps.configPath()),
			}
		}
		return ps.env[s.Env], nil
	case s.File != "":
		path := ps.expandHome(s.File)
		if err := requirePrivateFile(path); err != nil {
			return "", err
		}
		b, err := os.ReadFile(path)
		return strings.TrimSpace(string(b)), err
	case len(s.Command) > 0:
		ctx, cancel := context.WithTimeout(context.Background(), secretTimeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
		cmd.Stderr = ps.stderr
		b, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("run %s: %w", s.Command[0], err)
		}
		return strings.TrimSpace(string(b)), nil
	}
	return "", nil
}

// expandHome replaces a leading ~ of a path.
func (ps *profiles) expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(ps.env["HOME"], rest)
	}
	return path
}

func (ps *profiles) dir() string {
	base := ps.env["XDG_CONFIG_HOME"]
	if base == "" {
		base = filepath.Join(ps.env["HOME"], ".config")
	}
	return filepath.Join(base, "sbctl")
}

func (ps *profiles) configPath() string { return filepath.Join(ps.dir(), "config.yaml") }

// currentPath is the file that "sbctl profile use" writes.
func (ps *profiles) currentPath() string { return filepath.Join(ps.dir(), "profile") }

func (ps *profiles) readConfig() (config, error) {
	var c config
	b, err := os.ReadFile(ps.configPath())
	if os.IsNotExist(err) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(b))
	decoder.KnownFields(true) // a misspelt name must not look like a missing secret
	if err := decoder.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return c, fmt.Errorf("read %s: %w", ps.configPath(), err)
	}
	return c, nil
}

// current returns the current profile, "" for none.
func (ps *profiles) current() (string, error) {
	if ps.chosen != "" {
		return ps.chosen, nil
	}
	if name := ps.env["SBCTL_PROFILE"]; name != "" {
		return name, nil
	}
	b, err := os.ReadFile(ps.currentPath())
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	return strings.TrimSpace(string(b)), nil
}

func (ps *profiles) get(name string) (profile, error) {
	c, err := ps.readConfig()
	if err != nil {
		return profile{}, err
	}
	found, ok := c.Profiles[name]
	if !ok {
		return profile{}, &hintedError{
			fmt.Errorf("no profile %q in %s%s", name, ps.configPath(),
				english.Closest(name, slices.Collect(maps.Keys(c.Profiles)), "")),
			"\"sbctl profile list\" lists the profiles",
		}
	}
	return found, nil
}
