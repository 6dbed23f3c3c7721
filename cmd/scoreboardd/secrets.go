package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/scoreboard/scoreboard/server"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// secrets are generated once for a development stack and kept, so that tokens
// and keys survive a restart.
type secrets struct {
	JWT       string `json:"jwt_secret"`
	Master    string `json:"master_key"`
	KeyID     string `json:"key_id"`
	KeySecret string `json:"key_secret"`
}

// loadSecrets reads path, or generates secrets and writes them to it unless they
// are ephemeral.
func loadSecrets(path string, ephemeral bool) (*secrets, error) {
	s := &secrets{}
	b, err := os.ReadFile(path)
	if err == nil && !ephemeral {
		if err := json.Unmarshal(b, s); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		return s, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the development secrets: %w", err)
	}
	master := make([]byte, 32)
	_, _ = rand.Read(master) // never fails
	s.JWT, s.Master = rand.Text()+rand.Text(), hex.EncodeToString(master)
	s.KeyID, s.KeySecret = server.NewKey()
	if ephemeral {
		return s, nil
	}
	if b, err = json.MarshalIndent(s, "", "  "); err != nil {
		return nil, fmt.Errorf("write the development secrets: %w", err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o600); err != nil {
		return nil, fmt.Errorf("write the development secrets: %w", err)
	}
	return s, nil
}

// devUser is the user of the development stack's token.
const devUser = "dev"

// devTokenTTL keeps a developer's token valid for weeks.
const devTokenTTL = 30 * 24 * time.Hour

// register creates the signing key in the server.
func (s *secrets) register(ctx context.Context, srv *server.Server) error {
	return srv.EnsureKey(ctx, s.KeyID, "development", s.KeySecret)
}

// writeEnv writes the settings of sbctl. The server is not asked for the token: it issues
// none before it has read the stored settings.
func (s *secrets) writeEnv(path string, c *config.Config, api, ops net.Addr) error {
	tokens := auth.NewTokens(c.Auth.JWTSecret, c.Auth.Issuer, c.Auth.Audience, time.Now)
	token, _, err := tokens.Mint(devUser, "score:update score:admin", devTokenTTL)
	if err != nil {
		return err
	}
	text := fmt.Sprintf(
		"SBCTL_SERVER=http://%s\nSBCTL_TOKEN=%s\nSBCTL_KEY_ID=%s\nSBCTL_KEY_SECRET=%s\nSBCTL_OPS_SERVER=http://%s\n",
		reachable(api),
		token,
		s.KeyID,
		s.KeySecret,
		reachable(ops),
	)
	// Renamed into place, so that readers never see a partial file.
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the settings of sbctl: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write the settings of sbctl: %w", err)
	}
	return nil
}

// reachable returns an address that a client on this machine can dial.
func reachable(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
