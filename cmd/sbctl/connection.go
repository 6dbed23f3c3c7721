package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const defaultServer = "http://127.0.0.1:8080"

// devEnv is what the development stack writes.
var devEnv = filepath.Join(".dev", "sbctl.env")

// setting is a value and where it came from.
type setting struct{ Value, From string }

type settings struct {
	Profile                         string
	Server, Token, KeyID, KeySecret setting
	Ops                             setting // the server's operations address
}

// settings are read once: what is said of them later is of those in use, also
// where another development stack has written its own meanwhile.
func (p *program) settings() (settings, error) {
	if p.inUse == nil {
		s, err := p.readSettings()
		if err != nil {
			return s, err
		}
		p.inUse = &s
	}
	return *p.inUse, nil
}

// readSettings resolves flags over environment over profile; where none of the
// SBCTL_ variables is set and no profile is chosen, ./.dev/sbctl.env.
func (p *program) readSettings() (settings, error) {
	var s settings
	fill := func(to *setting, value, from string) {
		if to.Value == "" && value != "" {
			*to = setting{value, from}
		}
	}
	flag := withScheme(p.server)
	fill(&s.Server, flag, "--server")
	fill(&s.Server, withScheme(p.env["SBCTL_SERVER"]), "SBCTL_SERVER")
	fill(&s.Ops, p.env["SBCTL_OPS_SERVER"], "SBCTL_OPS_SERVER")
	fill(&s.Token, p.env["SBCTL_TOKEN"], "SBCTL_TOKEN")
	fill(&s.KeyID, p.env["SBCTL_KEY_ID"], "SBCTL_KEY_ID")
	fill(&s.KeySecret, p.env["SBCTL_KEY_SECRET"], "SBCTL_KEY_SECRET")

	name, err := p.profileName()
	if err != nil {
		return s, err
	}
	if name != "" {
		s.Profile = name
		profile, err := p.readProfile(name)
		if err != nil {
			return s, err
		}
		from := "profile " + name
		fill(&s.Server, withScheme(profile.Server), from)
		fill(&s.KeyID, profile.KeyID, from)
		if s.Token.Value == "" {
			token, err := profile.Token.read(p)
			if err != nil {
				return s, fmt.Errorf("read the token of profile %s: %w", name, err)
			}
			fill(&s.Token, token, from)
		}
		if s.KeySecret.Value == "" {
			secret, err := profile.KeySecret.read(p)
			if err != nil {
				return s, fmt.Errorf("read the key secret of profile %s: %w", name, err)
			}
			fill(&s.KeySecret, secret, from)
		}
	} else if set := p.firstSet(); set != "" {
		p.noteDevEnv(&s, set)
	} else {
		dev, err := readEnvFile(devEnv)
		if err != nil {
			return s, err
		}
		// Its token is not sent to a server other than the one it is for.
		if flag == "" || flag == dev["SBCTL_SERVER"] {
			fill(&s.Server, dev["SBCTL_SERVER"], devEnv)
			fill(&s.Ops, dev["SBCTL_OPS_SERVER"], devEnv)
			fill(&s.Token, dev["SBCTL_TOKEN"], devEnv)
			fill(&s.KeyID, dev["SBCTL_KEY_ID"], devEnv)
			fill(&s.KeySecret, dev["SBCTL_KEY_SECRET"], devEnv)
		}
	}
	fill(&s.Server, defaultServer, "the default")
	return s, nil
}

// withScheme takes HOST:PORT for http://HOST:PORT.
func withScheme(address string) string {
	_, port, err := net.SplitHostPort(address)
	if _, notANumber := strconv.ParseUint(port, 10, 16); err != nil || notANumber != nil {
		return address
	}
	return "http://" + address
}

// firstSet names a variable that is set, "" where none is.
func (p *program) firstSet() string {
	for _, name := range []string{"SBCTL_SERVER", "SBCTL_TOKEN", "SBCTL_KEY_ID", "SBCTL_KEY_SECRET"} {
		if p.env[name] != "" {
			return name
		}
	}
	return ""
}

// noteDevEnv says that ./.dev/sbctl.env is there and not read, where it
// would have given what is missing.
func (p *program) noteDevEnv(s *settings, because string) {
	if s.Token.Value != "" && s.KeyID.Value != "" && s.KeySecret.Value != "" {
		return
	}
	if _, err := os.Stat(devEnv); err == nil {
		p.say("note: %s is set, so %s is not read", because, devEnv)
	}
}

// readEnvFile reads NAME=value lines; a file that is not there is empty.
func readEnvFile(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	values := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), "=")
		if ok && !strings.HasPrefix(name, "#") {
			values[name] = strings.Trim(value, `"'`)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return values, nil
}

// checkPrivate refuses a file with secrets that others can read.
func checkPrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModePerm&0o077 != 0 && filepath.Separator == '/' {
		return &hinted{fmt.Errorf("%s holds a secret and others may read it", path), "chmod 600 " + path}
	}
	return nil
}
