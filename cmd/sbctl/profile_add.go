package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// profileValues are the values of a new profile.
type profileValues struct{ server, token, keyID, keySecret string }

func newProfileAddCmd(p *program) *cobra.Command {
	var v profileValues
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add or replace a profile", Args: exactArgs("NAME"),
		Long: `Add or replace a profile in ~/.config/sbctl/config.yaml. On a terminal, sbctl asks for
what the flags do not give; an empty answer leaves a value out. Elsewhere the flags are
enough, and only --server is required.

The token and the key's secret go to files of their own, next to the configuration,
which only you can read (mode 0600). Other users of the machine can see the flags of a
running program: prefer the prompts, which do not show what you type.`,
		Example: trimExamples(`
  sbctl profile add staging
  sbctl profile add staging --server https://scores.staging.example.com --token "$TOKEN"`),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			if !profileNames.MatchString(name) {
				return usagef("invalid profile name %q: must be up to 64 letters, digits, '.', '_' or '-'", name)
			}
			v.server = p.server // --server names the server of the profile here
			if err := askForProfile(p.prompt, cmd, &v); err != nil {
				return err
			}
			if err := v.check(); err != nil {
				return err
			}
			c, err := p.profiles.readConfig()
			if err != nil {
				return err
			}
			if old, exists := c.Profiles[name]; exists {
				where := fmt.Sprintf("profile %s of %s, for %s", name, p.profiles.configPath(), old.Server)
				if err := p.confirmOn(cmd.Context(), where, "Replace it?"); err != nil {
					return err
				}
			}
			added, err := p.profiles.add(name, &v)
			if err != nil {
				return err
			}
			p.infof("profile %s is in %s; next: sbctl profile use %s", name, p.profiles.configPath(), name)
			return printProfile(p.output, p.profiles, name, added)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&v.token, "token", "", "bearer token")
	flags.StringVar(&v.keyID, "key-id", "", "id of the signing key")
	flags.StringVar(&v.keySecret, "key-secret", "", "secret of the signing key")
	return cmd
}

// askForProfile asks for the values that no flag gave, on a terminal.
func askForProfile(pr *prompt, cmd *cobra.Command, v *profileValues) (err error) {
	if !isTerminal(pr.stdin) {
		return nil
	}
	ctx, given := cmd.Context(), cmd.Flags().Changed
	if !given("server") {
		if v.server, err = pr.ask(ctx, "Server ["+defaultServer+"]: "); err != nil {
			return err
		}
		if v.server == "" {
			v.server = defaultServer
		}
	}
	if !given("token") {
		if v.token, err = pr.askHidden(ctx, "Token (hidden, empty for none): "); err != nil {
			return err
		}
	}
	if !given("key-id") && !given("key-secret") {
		if v.keyID, err = pr.ask(ctx, "Id of the signing key (empty for none): "); err != nil {
			return err
		}
	}
	if v.keyID != "" && !given("key-secret") {
		v.keySecret, err = pr.askHidden(ctx, "Secret of the signing key (hidden): ")
	}
	return err
}

// check completes the address and rejects values that no command could use.
func (v *profileValues) check() error {
	if v.server == "" {
		return usagef("--server is required")
	}
	v.server = addScheme(v.server)
	if err := addressError(v.server); err != nil {
		return usagef("%w", err)
	}
	if (v.keyID == "") != (v.keySecret == "") {
		return usagef("a signing key requires both its id and its secret")
	}
	return nil
}

// add writes the secrets before the profile that refers to them. Files of a
// replaced profile go.
func (ps *profiles) add(name string, v *profileValues) (profile, error) {
	to := profile{Server: v.server, KeyID: v.keyID}
	err := ps.dropSecrets(name)
	if err == nil {
		to.Token, err = ps.keepSecret(name, kindToken, v.token)
	}
	if err == nil {
		to.KeySecret, err = ps.keepSecret(name, kindKeySecret, v.keySecret)
	}
	if err == nil {
		err = ps.put(name, &to)
	}
	return to, err
}
