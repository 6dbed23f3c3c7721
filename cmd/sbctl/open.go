package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newOpenCmd(p *program) *cobra.Command {
	return newNounCmd("open", "Open the documentation or a report in the browser", `
  sbctl open docs
  sbctl open report`,
		newOpenDocsCmd(p), newOpenReportCmd(p))
}

func newOpenDocsCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "docs", Short: "Open the documentation that the server serves", Args: exactArgs(),
		Example: trimExamples(`
  sbctl open docs
  sbctl open docs --server https://scores.example.com`),
		RunE: func(*cobra.Command, []string) error {
			s, err := p.connection()
			if err != nil {
				return err
			}
			if err := addressError(s.Server.Value); err != nil {
				return usagef("%w", err)
			}
			return browse(p.output, strings.TrimSuffix(s.Server.Value, "/")+"/docs")
		},
	}
}

func newOpenReportCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "report [PATH]", Short: "Open the report of a load, by default the newest below out/", Args: atMostOne,
		Example: trimExamples(`
  sbctl open report
  sbctl open report out/accept`),
		RunE: func(_ *cobra.Command, args []string) error {
			under := "out"
			if len(args) > 0 {
				under = args[0]
			}
			path, err := newestReport(under)
			if err != nil {
				return err
			}
			return browse(p.output, path)
		},
	}
}

// newestReport finds the newest report.html in a folder; a file is the report itself.
func newestReport(under string) (string, error) {
	var newest string
	var at time.Time
	err := filepath.WalkDir(under, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path != under && d.Name() != "report.html" {
			return err
		}
		info, err := d.Info()
		if err == nil && info.ModTime().After(at) {
			newest, at = path, info.ModTime()
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if newest == "" {
		return "", &hintedError{
			fmt.Errorf("no report.html in %s", under), "\"sbctl load run\" and \"sbctl accept\" write one",
		}
	}
	return filepath.Abs(newest)
}

// browse prints an address and opens it in the browser: that of BROWSER, else the
// desktop's. Without a desktop, as over ssh, it only prints it.
func browse(out *output, address string) error {
	if _, err := fmt.Fprintln(out.stdout, address); err != nil {
		return err
	}
	command := browser(out.env)
	if len(command) == 0 {
		out.infof("no browser to open it; set BROWSER")
		return nil
	}
	cmd := exec.Command(command[0], append(command[1:], address)...) //nolint:noctx // it outlives sbctl
	cmd.Stderr = out.stderr
	if err := cmd.Run(); err != nil {
		return &hintedError{
			fmt.Errorf("open the browser with %s: %w", command[0], err), "set BROWSER, or open " + address,
		}
	}
	return nil
}

// browser is the command that opens an address; empty if there is no desktop.
func browser(env map[string]string) []string {
	if own := strings.Fields(env["BROWSER"]); len(own) > 0 {
		return own
	}
	switch runtime.GOOS {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	if env["DISPLAY"] == "" && env["WAYLAND_DISPLAY"] == "" {
		return nil
	}
	return []string{"xdg-open"}
}
