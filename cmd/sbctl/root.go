package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/internal/english"
)

func newRootCmd(p *program) *cobra.Command {
	root := newNounCmd("sbctl", "Submit, read and watch scores, and operate a scoreboard server", `
  sbctl score submit --user alice --delta 5
  sbctl watch`,
		newScoreCmd(p),
		newEventCmd(p),
		newActionCmd(p),
		newTopCmd(p),
		newRankCmd(p), newExplainCmd(p),
		newFriendCmd(p),
		newTeamCmd(p),
		newRewardCmd(p), newLeagueCmd(p), newTournamentCmd(p),
		newWatchCmd(p),
		newTokenCmd(p),
		newKeyCmd(p), newWebhookCmd(p),
		newBoardCmd(p),
		newOutboxCmd(p),
		newDLQCmd(p),
		withReason(newRebuildCmd(p)),
		newVerifyCmd(p),
		newJobCmd(p),
		newWhatIfCmd(p),
		withReason(newReconcileCmd(p)),
		withReason(newReplayCmd(p)),
		newLedgerCmd(p),
		newExportCmd(p),
		newImportCmd(p),
		newAuditCmd(p),
		newUserCmd(p),
		newFlagCmd(p),
		newSettingsCmd(p),
		newLoadCmd(p),
		newAcceptCmd(p),
		newMigrateCmd(p),
		newDoctorCmd(p),
		newStatusCmd(p),
		newSignCmd(p),
		newSizeCmd(p),
		newOpenCmd(p),
		newProfileCmd(p),
		newVersionCmd(p),
		newCompletionCmd(p),
	)
	root.Long = `Submit, read and watch scores, and operate a scoreboard server.

The server, token and key come from flags, else the environment (SBCTL_SERVER,
SBCTL_TOKEN, SBCTL_KEY_ID, SBCTL_KEY_SECRET), else a profile (--profile,
SBCTL_PROFILE or "sbctl profile use"). If none of these is set, sbctl reads
.dev/sbctl.env in this directory or a parent, which "scoreboardd dev" writes.

Times are durations before now (1h, 2d), "yesterday 18:00", dates (2026-11-21) or
RFC 3339 (2026-11-21T12:00:00Z). Times without a zone are in UTC, like all times shown.

Exit codes: 0 success, 1 error, 2 usage error, 3 completed, but a check failed,
130 interrupted.`
	root.Version = buildinfo.Read().Version
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelpCmd())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(p.args, cmd, err) })
	flags := root.PersistentFlags()
	flags.StringVar(&p.server, "server", "", "address of the server (default http://127.0.0.1:8080)")
	flags.StringVarP(&p.format, "output", "o", "table",
		"output `format`: table, json, ndjson, csv, yaml or template=TEMPLATE")
	flags.StringVar(&p.profiles.chosen, "profile", "", "profile to use")
	flags.BoolVar(&p.yes, "yes", false, "skip confirmations")
	flags.BoolVarP(&p.quiet, "quiet", "q", false, "print only results and errors")
	flags.StringVar(&p.color, "color", "auto", "colours: auto, always or never")
	flags.BoolVar(&p.curl, "curl", false, "print the request as a curl command instead of sending it")
	(&completer{p.connector, p.output}).completeFromServer(root)
	decimalFlags(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := p.check(strings.Fields(cmd.Annotations[extraOutputs])); err != nil {
			return err
		}
		if p.curl && !sendsRequest(cmd) {
			return usagef("--curl is for commands that send one request")
		}
		return nil
	}
	return root
}

// check checks --output and --color before anything happens. extra are additional
// formats of the command.
func (out *output) check(extra []string) error {
	requested := out.format
	names := append(slices.Clone(formats[:len(formats)-1]), extra...)
	if text, _ := strings.CutPrefix(requested, templatePrefix); text != requested && text != "" {
		if _, err := parseTemplate(text); err != nil {
			return usagef("--output: %w", err)
		}
	} else if !slices.Contains(names, requested) {
		out.format = "table"
		return usagef("--output must be %s or template=TEMPLATE, not %q", strings.Join(names, ", "), requested)
	}
	if !slices.Contains(colorModes, out.color) {
		return usagef("--color must be auto, always or never, not %q", out.color)
	}
	out.style = out.newStyle()
	return nil
}

// sendsRequest reports whether a command is one for a request to the API. The others
// send none, or many.
func sendsRequest(cmd *cobra.Command) bool {
	for cmd.HasParent() && cmd.Parent().HasParent() {
		cmd = cmd.Parent()
	}
	return !slices.Contains([]string{
		"accept", "completion", "doctor", "export", "help", "import", "load", "migrate", "open", "profile",
		"sign", "size", "version",
	}, cmd.Name())
}

// extraOutputs is the annotation with the additional output formats of a command.
const extraOutputs = "outputs"

// newNounCmd groups the verbs of a noun. Without a verb it prints its help; an
// unknown verb is a usage error.
func newNounCmd(name, short, examples string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, Example: trimExamples(examples),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(verbs...)
	return cmd
}

// unknownCommand suggests the commands that cobra finds similar.
func unknownCommand(cmd *cobra.Command, word string) error {
	cmd.SuggestionsMinimumDistance = 2
	text := fmt.Sprintf("unknown command %q", cmd.CommandPath()+" "+word)
	if similar := cmd.SuggestionsFor(word); len(similar) > 0 {
		text += "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return usagef("%s", text)
}

func newHelpCmd() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND…]", Short: "Show help for a command",
		Example: trimExamples(`
  sbctl help score submit
  sbctl help watch`),
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("unknown command %q", "sbctl "+strings.Join(args, " "))
			}
			return topic.Help()
		},
	}
}

// exactArgs checks the number of arguments and names a missing one.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usagef("%s is required", names[len(args)])
		}
		if len(args) <= len(names) {
			return nil
		}
		more := args[len(names)]
		if cmd.Flags().Lookup("board") != nil && !cmd.Flags().Changed("board") {
			return usagef("unexpected argument %q; a board is named by --board %s", more, more)
		}
		return usagef("unexpected argument %q", more)
	}
}

// idArgument reads the number of something.
func idArgument(what, text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, usagef("invalid %s id %q: must be a number from 1", what, text)
	}
	return id, nil
}

// requireFlags marks flags in the help as required, and rejects a run without one of them
// before anything is sent.
func requireFlags(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		cmd.Flags().Lookup(name).Usage += " (required)"
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		for _, name := range names {
			if f := cmd.Flags().Lookup(name); !f.Changed || f.Value.String() == "" {
				return usagef("--%s is required", name)
			}
		}
		return nil
	}
}

// atMostOne checks that there is no second argument.
func atMostOne(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("unexpected argument %q", args[1])
	}
	return nil
}

// flagError explains an invalid flag. If the verb is misspelt, its flags are
// unknown to the noun; the verb is then the error.
func flagError(args []string, cmd *cobra.Command, err error) error {
	if word := verbOf(args, cmd); word != "" {
		return unknownCommand(cmd, word)
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if kind := valueKinds[invalid.GetFlag().Value.Type()]; kind != "" {
			return usagef("--%s must be %s, not %q", invalid.GetFlag().Name, kind, invalid.GetValue())
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
		return usagef("put a value that begins with - after --, as in -- -%s", name)
	}
	if len(name) == 1 {
		return usagef("unknown flag -%s", name)
	}
	return usagef("unknown flag --%s%s", name, english.Closest(name, names, "--"))
}

// verbOf returns the first word after a noun that is neither a flag nor a flag's
// value; it stops at the first flag that the noun does not know.
func verbOf(args []string, noun *cobra.Command) string {
	if !noun.HasSubCommands() {
		return ""
	}
	_, rest, err := noun.Root().Find(args)
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
		name, _, hasValue := strings.Cut(name, "=")
		f := noun.Flag(name)
		if f == nil {
			return ""
		}
		if !hasValue && f.NoOptDefVal == "" {
			i++ // the value is the next word
		}
	}
	return ""
}

// valueKinds describes the values of flags whose parser reports Go's terms.
var valueKinds = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint64": "a non-negative whole number",
	"float64": "a number", "bool": "true or false", "duration": "a duration such as 30s or 15m",
}

func trimExamples(s string) string { return strings.Trim(s, "\n") }

// addBoardFlag adds the flag --board, for commands on one board.
func addBoardFlag(cmd *cobra.Command, board *string) {
	cmd.Flags().StringVar(board, "board", "global", "board")
}

func newVersionCmd(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of sbctl", Args: exactArgs(),
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
