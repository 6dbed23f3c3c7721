package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/server/config"
)

// errUsage marks an invalid command line: exit status 2.
var errUsage = errors.New("see --help")

// noCommand rejects arguments to a command that takes none.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return fmt.Errorf("unknown command %q%s (%w)", cmd.CommandPath()+" "+args[0], english.Closest(args[0], names, ""),
		errUsage)
}

func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return fmt.Errorf("%w (%w)", err, errUsage)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	name := unknown.GetSpecifiedName()
	return fmt.Errorf("unknown flag --%s%s (%w)", name, english.Closest(name, names, "--"), errUsage)
}

// warnOfMisspelt names variables that look like settings but are not. They are
// no error: other programs share the environment.
func warnOfMisspelt(w io.Writer, environ []string) {
	for _, name := range config.UnknownVariables(environ) {
		fmt.Fprintf(w, "scoreboardd: %s is not a setting and has no effect%s\n", name,
			english.Closest(name, config.EnvNames(), ""))
	}
}
