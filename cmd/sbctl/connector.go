package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/buildinfo"
)

// connector connects the run to the server that its flags, environment and profile name.
type connector struct {
	*process
	profiles *profiles
	trace    *trace

	server   string      // --server
	curl     bool        // --curl: requests are printed instead of sent
	resolved *connection // on first use
}

// connection is resolved once, so that messages describe the server in use even
// after another development stack has rewritten devEnv.
func (cn *connector) connection() (connection, error) {
	if cn.resolved == nil {
		s, err := cn.resolve()
		if err != nil {
			return s, err
		}
		cn.resolved = &s
	}
	return *cn.resolved, nil
}

// client returns a client of the connection's server.
func (cn *connector) client() (*client.Client, error) {
	s, err := cn.connection()
	if err != nil {
		return nil, err
	}
	o := client.Options{
		Token: s.Token.Value, KeyID: s.KeyID.Value, KeySecret: s.KeySecret.Value,
		UserAgent: "sbctl/" + buildinfo.Read().Version,
	}
	parent := cn.env[envTraceparent]
	if !cn.curl {
		if parent, err = cn.trace.traceparent(); err != nil {
			return nil, err
		}
	}
	if parent != "" {
		o.Traceparent = func(context.Context) string { return parent }
	}
	if cn.curl {
		o.HTTP, o.Attempts = client.NewHTTP(curlPrinter{cn.stdout, prefixOf(s.Server.Value)}), 1
	}
	c, err := client.New(s.Server.Value, o)
	if err != nil {
		return nil, usagef("%w", err)
	}
	return c, nil
}

// withClient adapts a function that needs a client to a command's RunE.
func (cn *connector) withClient(
	do func(cmd *cobra.Command, c *client.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := cn.client()
		if err != nil {
			return err
		}
		defer c.Close()
		return do(cmd, c, args)
	}
}
