package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/internal/suggest"
)

func newRootCmd(p *program) *cobra.Command {
	root := newNounCmd("sbctl", "Submit, read and watch scores, and operate a scoreboard", `
  sbctl score submit --user alice --delta 5
  sbctl watch`,
		newScoreCmd(p),
		newEventCmd(p),
		newTopCmd(p),
		newRankCmd(p),
		newWatchCmd(p),
		newTokenCmd(p),
		newKeyCmd(p),
		newBoardCmd(p),
		newOutboxCmd(p),
		newDLQCmd(p),
		audited(newRebuildCmd(p)),
		newVerifyCmd(p),
		audited(newReconcileCmd(p)),
		audited(newReplayCmd(p)),
		newLedgerCmd(p),
		newAuditCmd(p),
		newUserCmd(p),
		newFlagCmd(p),
		newSettingsCmd(p),
		newLoadCmd(p),
		newAcceptCmd(p),
		newMigrateCmd(p),
		newDoctorCmd(p),
		newProfileCmd(p),
		newVersionCmd(p),
		newCompletionCmd(p),
	)
	root.Long = `sbctl submits, reads and watches scores, and operates a scoreboard.

Settings come from flags, else SBCTL_SERVER, SBCTL_TOKEN, SBCTL_KEY_ID,
SBCTL_KEY_SECRET and SBCTL_PROFILE, else a profile of ~/.config/sbctl/config.yaml,
else, where none of those variables is set, ./.dev/sbctl.env, which "make dev"
writes.

Exit codes: 0 done, 1 broke, 2 misused, 3 ran well and the answer is no,
130 interrupted.`
	root.Version = buildinfo.Read().Version
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelpCmd())
	root.SetFlagErrorFunc(p.flagError)
	flags := root.PersistentFlags()
	flags.StringVar(&p.server, "server", "", "the server's address (default http://127.0.0.1:8080)")
	flags.StringVar(&p.output, "output", "table", "how results are printed: table or json")
	flags.StringVar(&p.profile, "profile", "", "the profile to take settings from")
	flags.BoolVar(&p.yes, "yes", false, "do not ask before destroying something")
	flags.BoolVar(&p.quiet, "quiet", false, "print results and errors only")
	p.completeFromServer(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		outputs := append([]string{"table", "json"}, strings.Fields(cmd.Annotations[outputsMore])...)
		if !slices.Contains(outputs, p.output) {
			asked := p.output
			p.output = "table"
			return usagef("--output is %s, not %q", strings.Join(outputs, " or "), asked)
		}
		return nil
	}
	return root
}

// outputsMore annotates a command that prints in more ways than others.
const outputsMore = "outputs"

// newNounCmd groups the verbs of a noun. Alone it prints its help; with an
// unknown verb it is misused.
func newNounCmd(name, short, examples string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, Example: trimExamples(examples),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return noCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(verbs...)
	return cmd
}

func noCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, verb := range cmd.Commands() {
		names = append(names, verb.Name())
	}
	return usagef("there is no command %q%s", cmd.CommandPath()+" "+word, suggest.Closest(word, names, ""))
}

func newHelpCmd() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND…]", Short: "Show the help of a command",
		Example: trimExamples(`
  sbctl help score submit
  sbctl help watch`),
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("there is no command %q", "sbctl "+strings.Join(args, " "))
			}
			return about.Help()
		},
	}
}

// takes checks the number of arguments and names the one that is missing.
func takes(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usagef("%s is missing", names[len(args)])
		}
		if len(args) > len(names) {
			return usagef("%q is one argument too many", args[len(names)])
		}
		return nil
	}
}

// flagError says what is wrong with a flag. That of a misspelt verb is unknown
// to its noun, and no mistake of its own.
func (p *program) flagError(cmd *cobra.Command, err error) error {
	if word := p.verbOf(cmd); word != "" {
		return noCommand(cmd, word)
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if kind := valueKinds[invalid.GetFlag().Value.Type()]; kind != "" {
			return usagef("--%s takes %s, not %q", invalid.GetFlag().Name, kind, invalid.GetValue())
		}
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usagef("%w", err)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	name := unknown.GetSpecifiedName()
	if len(name) == 1 && name >= "0" && name <= "9" {
		return usagef("a value that begins with - stands behind --, as in -- -%s", name)
	}
	if len(name) == 1 {
		return usagef("there is no flag -%s", name)
	}
	return usagef("there is no flag --%s%s", name, suggest.Closest(name, names, "--"))
}

// verbOf is the first word behind a noun that is neither a flag nor its value,
// up to the first flag that the noun does not know.
func (p *program) verbOf(noun *cobra.Command) string {
	if !noun.HasSubCommands() {
		return ""
	}
	_, rest, err := noun.Root().Find(p.args)
	if err != nil {
		return ""
	}
	for i := 0; i < len(rest); i++ {
		name, isFlag := strings.CutPrefix(rest[i], "--")
		if !isFlag {
			if strings.HasPrefix(rest[i], "-") {
				return ""
			}
			return rest[i]
		}
		name, _, whole := strings.Cut(name, "=")
		f := noun.Flag(name)
		if f == nil {
			return ""
		}
		if !whole && f.NoOptDefVal == "" {
			i++ // its value
		}
	}
	return ""
}

// valueKinds says what a flag takes, for those whose parser speaks of Go.
var valueKinds = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint64": "a whole number that is not negative",
	"float64": "a number", "bool": "true or false", "duration": "a time such as 30s or 15m",
}

func trimExamples(s string) string { return strings.Trim(s, "\n") }

// addBoardFlag gives a command the flag that picks one board.
func addBoardFlag(cmd *cobra.Command, board *string) {
	cmd.Flags().StringVar(board, "board", "global", "the board")
}

func newVersionCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: takes(),
		Example: trimExamples(`
  sbctl version
  sbctl version --output json`),
		RunE: func(*cobra.Command, []string) error {
			b := buildinfo.Read()
			return p.print(b, func() *table {
				t := newTable()
				t.add("version", b.Version)
				if b.Commit != "" {
					t.add("commit", b.Commit)
					t.add("date", b.Date)
				}
				t.add("go", b.Go)
				return t
			})
		},
	}
}
