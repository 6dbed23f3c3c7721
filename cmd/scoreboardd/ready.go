package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// readyWait is a little longer than the daemon takes to find out.
const readyWait = 3 * time.Second

// newReady is the health check of a container, whose image has no other programs.
func newReady() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ready", Short: "Ask the daemon on this machine whether it is ready; exit 1 if it is not", Args: noCommand,
		Long: `Ask the daemon on this machine whether it is ready (GET /readyz on ops.addr), print its
answer, and exit with 1 if it is not. The address comes from the same flags, variables
and file as the daemon's.`,
		Example: "  scoreboardd ready\n  scoreboardd ready --ops-addr 127.0.0.1:9081",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := load(cmd.Flags(), os.LookupEnv)
			if err != nil {
				return err
			}
			host, port, err := net.SplitHostPort(c.OpsAddr)
			if err != nil {
				return fmt.Errorf("setting ops.addr: %w", err)
			}
			if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
				host = "127.0.0.1"
			}
			url := "http://" + net.JoinHostPort(host, port) + "/readyz"
			req, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, url, http.NoBody)
			if err != nil {
				return err
			}
			res, err := (&http.Client{Timeout: readyWait}).Do(req)
			if err != nil {
				return err
			}
			defer func() { _ = res.Body.Close() }()
			if _, err := io.Copy(cmd.OutOrStdout(), io.LimitReader(res.Body, 64<<10)); err != nil {
				return err
			}
			if res.StatusCode != http.StatusOK {
				return errors.New("the daemon is not ready")
			}
			return nil
		},
	}
	cmd.SetUsageFunc(func(cmd *cobra.Command) error { return ownUsage(cmd, new(pflag.FlagSet)) })
	return cmd
}
