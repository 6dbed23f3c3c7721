package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scoreboard/scoreboard/internal/suggest"
	"github.com/scoreboard/scoreboard/server/config"
)

// errUsage is a command line that cannot be run.
var errUsage = errors.New("see --help")

// noCommand refuses words behind a command that takes none.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return fmt.Errorf("there is no command %q%s (%w)", cmd.CommandPath()+" "+args[0], suggest.Closest(args[0], names, ""), errUsage)
}

func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return fmt.Errorf("%w (%w)", err, errUsage)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	name := unknown.GetSpecifiedName()
	return fmt.Errorf("there is no flag --%s%s (%w)", name, suggest.Closest(name, names, "--"), errUsage)
}

// warnOfMisspelt names variables that look like settings and are none. They are
// no error: an environment is shared with others.
func warnOfMisspelt(w io.Writer, environ []string) {
	for _, name := range config.Misspelt(environ) {
		fmt.Fprintf(w, "scoreboardd: %s is not a knob and does nothing%s\n", name, suggest.Closest(name, config.EnvNames(), ""))
	}
}
