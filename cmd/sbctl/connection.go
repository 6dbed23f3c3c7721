package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/scoreboard/scoreboard/internal/publicnet"
)

const defaultServer = "http://127.0.0.1:8080"

// devEnv is the file that the development stack writes, below its working directory.
var devEnv = filepath.Join(".dev", "sbctl.env")

// findDevEnv returns the path of devEnv in the working directory or the closest parent
// that has it, relative to the working directory; "" if none has. Files of parents that
// other users can read are skipped, because others may have put them there.
func (s *connection) findDevEnv() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", devEnv, err)
	}
	for up := ""; ; up = filepath.Join(up, "..") {
		path := filepath.Join(dir, devEnv)
		shown := filepath.Join(up, devEnv)
		switch _, err := os.Stat(path); {
		case err != nil: // it is not here, or not for this user
		case up == "":
			return shown, nil
		default:
			err := requirePrivateFile(path)
			if err == nil {
				return shown, nil
			}
			s.skip(shown, "other users can read it")
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", nil
		}
		dir = parent
	}
}

// sameServer reports whether two addresses name the same server: letter case, a trailing
// slash, the default port and the name of the loopback address do not count.
func sameServer(a, b string) bool {
	a, b = normalAddress(a), normalAddress(b)
	return a != "" && a == b
}

// normalAddress returns one spelling of an address; "" if it is not an address.
func normalAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	scheme, host, port := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname()), u.Port()
	if host == "localhost" || host == "::1" {
		host = "127.0.0.1"
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return scheme + "://" + net.JoinHostPort(host, port) + strings.TrimRight(u.Path, "/")
}

// option is a value and its origin.
type option struct{ Value, From string }

type connection struct {
	Profile                         string
	Server, Token, KeyID, KeySecret option
	Ops                             option   // the server's operations address
	Skipped                         []string // sources that exist and were not used, and why
}

// skip notes a source of values that exists and was not used, and why.
func (s *connection) skip(source, because string) {
	s.Skipped = append(s.Skipped, source+" ("+because+")")
}

// isLocal reports whether the server is on this machine, as a development stack is.
func (s connection) isLocal() bool {
	u, err := url.Parse(s.Server.Value)
	return err == nil && publicnet.IsLoopback(u.Hostname())
}

// unreachableStep is what to do if no server answers.
func (s connection) unreachableStep() string {
	start := ""
	if s.isLocal() {
		start = "; \"scoreboardd dev\" starts one"
	}
	return fmt.Sprintf("check that a server runs at %s (from %s)%s, --server sets the address", s.Server.Value,
		s.Server.From, start)
}

// newTokenStep is what to do if the token is not accepted.
func (s connection) newTokenStep() string {
	if s.isLocal() {
		return "set a new one in SBCTL_TOKEN; \"scoreboardd token\" creates one with the settings of the daemon, " +
			"\"sbctl token mint\" on a development server"
	}
	return "get a new one from the identity provider, and set it in SBCTL_TOKEN or the profile"
}

// resolve takes each value from a flag, else the environment, else the
// profile. Without SBCTL_ variables and a profile it uses .dev/sbctl.env in the working
// directory or a parent.
func (cn *connector) resolve() (connection, error) {
	var s connection
	fill := func(to *option, value, from string) {
		value = strings.TrimSpace(value) // a carriage return of a file of Windows is no part of a token
		if to.Value == "" && value != "" {
			*to = option{value, from}
		}
	}
	flag := addScheme(cn.server)
	fill(&s.Server, flag, "--server")
	fill(&s.Server, addScheme(cn.env["SBCTL_SERVER"]), "SBCTL_SERVER")
	fill(&s.Ops, cn.env["SBCTL_OPS_SERVER"], "SBCTL_OPS_SERVER")
	fill(&s.Token, cn.env["SBCTL_TOKEN"], "SBCTL_TOKEN")
	fill(&s.KeyID, cn.env["SBCTL_KEY_ID"], "SBCTL_KEY_ID")
	fill(&s.KeySecret, cn.env["SBCTL_KEY_SECRET"], "SBCTL_KEY_SECRET")

	name, err := cn.profiles.current()
	if err != nil {
		return s, err
	}
	if name != "" {
		s.Profile = name
		profile, err := cn.profiles.get(name)
		if err != nil {
			return s, err
		}
		from := "profile " + name
		of := addScheme(profile.Server)
		if of != "" && s.Server.Value != "" && !sameServer(s.Server.Value, of) {
			// Its token and its key are only for its server, and never sent to another one.
			if s.Token.Value == "" || s.KeyID.Value == "" {
				s.skip("token and key of profile "+name, "they are for "+of)
			}
			return s, nil
		}
		fill(&s.Server, of, from)
		fill(&s.KeyID, profile.KeyID, from)
		if s.Token.Value == "" {
			token, err := profile.Token.read(cn.profiles)
			if err != nil {
				return s, fmt.Errorf("read the token of profile %s: %w", name, err)
			}
			fill(&s.Token, token, from)
		}
		if s.KeySecret.Value == "" {
			secret, err := profile.KeySecret.read(cn.profiles)
			if err != nil {
				return s, fmt.Errorf("read the key secret of profile %s: %w", name, err)
			}
			fill(&s.KeySecret, secret, from)
		}
	} else if set := firstSetVariable(cn.env); set != "" {
		s.skipDevEnv(set)
	} else {
		path, err := s.findDevEnv()
		if err != nil {
			return s, err
		}
		dev, err := readEnvFile(path)
		if err != nil {
			return s, err
		}
		// Its token is only for its server, and never sent to another one: with another
		// spelling, the file's is used, because localhost can be two addresses.
		if flag != "" && sameServer(flag, dev["SBCTL_SERVER"]) {
			s.Server.Value = dev["SBCTL_SERVER"]
		}
		if flag == "" || s.Server.Value == dev["SBCTL_SERVER"] {
			fill(&s.Server, dev["SBCTL_SERVER"], path)
			fill(&s.Ops, dev["SBCTL_OPS_SERVER"], path)
			fill(&s.Token, dev["SBCTL_TOKEN"], path)
			fill(&s.KeyID, dev["SBCTL_KEY_ID"], path)
			fill(&s.KeySecret, dev["SBCTL_KEY_SECRET"], path)
		} else if len(dev) > 0 {
			s.skip(path, "it is for "+dev["SBCTL_SERVER"])
		}
	}
	fill(&s.Server, defaultServer, "the default")
	return s, nil
}

// addScheme turns HOST:PORT into http://HOST:PORT.
func addScheme(address string) string {
	_, port, err := net.SplitHostPort(address)
	if _, notANumber := strconv.ParseUint(port, 10, 16); err != nil || notANumber != nil {
		return address
	}
	return "http://" + address
}

// firstSetVariable returns the first SBCTL_ variable that is set, or "".
func firstSetVariable(env map[string]string) string {
	for _, name := range []string{"SBCTL_SERVER", "SBCTL_TOKEN", "SBCTL_KEY_ID", "SBCTL_KEY_SECRET"} {
		if env[name] != "" {
			return name
		}
	}
	return ""
}

// skipDevEnv notes that .dev/sbctl.env exists but was not used, if a value is missing
// that it might have had.
func (s *connection) skipDevEnv(because string) {
	if s.Token.Value != "" && s.KeyID.Value != "" && s.KeySecret.Value != "" {
		return
	}
	if path, err := s.findDevEnv(); err == nil && path != "" {
		s.skip(path, because+" is set")
	}
}

// readEnvFile reads NAME=value lines. A missing file, or none, is empty.
func readEnvFile(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
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

// requirePrivateFile rejects a file with secrets that other users can read.
func requirePrivateFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModePerm&0o077 != 0 && filepath.Separator == '/' {
		return &hintedError{
			fmt.Errorf("%s contains a secret but is readable by other users", path),
			"chmod 600 " + path,
		}
	}
	return nil
}
