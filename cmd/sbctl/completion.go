package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/loadgen/criteria"
)

// completer completes what a person types in a shell.
type completer struct {
	*connector
	out *output
}

// completeFromServer registers completions for flags by their names, and for arguments by
// how Use names them. Only flags and arguments that take a file complete files.
func (w *completer) completeFromServer(cmd *cobra.Command) {
	noun := ""
	if cmd.HasParent() {
		noun = cmd.Parent().Name()
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if complete := w.flagCompletion(noun+" "+cmd.Name(), f.Name); complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails only for an unknown flag or a second call
		}
	})
	if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 && !cmd.HasSubCommands() {
		_, argument, _ := strings.Cut(cmd.Use, " ")
		cmd.ValidArgsFunction = w.argumentCompletion(noun, cmd.Name(), argument)
	}
	for _, sub := range cmd.Commands() {
		w.completeFromServer(sub)
	}
}

// argumentCompletion completes the arguments of a command, which Use names argument.
func (w *completer) argumentCompletion(noun, verb, argument string) cobra.CompletionFunc {
	switch {
	case argument == "USER":
		return once(w.completeUsers)
	case argument == "BOARD", noun == "board" && strings.Trim(argument, "[]") == "NAME" && verb != "create":
		return once(w.completeBoards)
	case noun == "settings" && verb == "get":
		return once(w.completeSettings)
	case noun == "settings" && verb == "set":
		return w.completeSettings
	case noun == "profile" && strings.Trim(argument, "[]") == "NAME" && verb != "add":
		return once(w.completeProfiles)
	case argument == "ID":
		return once(w.completeIDs(noun, verb))
	case argument == "FILE...":
		return cobra.FixedCompletions([]string{"zst"}, cobra.ShellCompDirectiveFilterFileExt)
	case strings.Trim(argument, "[]") == "PATH":
		return nil // files and folders
	case argument == "[METHOD PATH]":
		return once(cobra.FixedCompletions([]string{"GET", "POST", "PUT", "PATCH", "DELETE"},
			cobra.ShellCompDirectiveNoFileComp))
	}
	return cobra.NoFileCompletions
}

// flagWords are the values of flags with few values, by the name of the flag and, if it
// has different ones elsewhere, the command.
var flagWords = map[string][]string{
	"board list period": {"none", "daily", "weekly", "monthly", "season", "cron"},
	"board list status": {"active", "frozen", "archived"},
	"board set require": {"action-token", "attestation", "none"},
	"color":             colorModes,
	"flag list state":   {"open", "dismissed", "confirmed", "all"},
	"format":            {"text", "json", "html", "hdr"},
	"load run mode":     {"sync", "async", "batch"},
	"mode":              {"increment", "best", "latest"},
	"order":             {"highest", "lowest"},
	"period":            {"none", "daily", "weekly", "monthly", "season", "cron"},
	"require":           {"action-token", "attestation"},
	"scope":             scopes,
	"week-start":        {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"},
	"criteria":          criteria.Names(criteria.Profiles()),
}

// flagCompletion completes a flag of a command; nil completes files.
func (w *completer) flagCompletion(command, flag string) cobra.CompletionFunc {
	for _, name := range []string{command + " " + flag, flag} {
		if words := flagWords[name]; words != nil {
			return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
		}
	}
	switch flag {
	case "board", "boards", "family":
		return w.completeBoards
	case "user":
		return w.completeUsers
	case "profile":
		return w.completeProfiles
	case "output":
		return completeOutput
	case "key":
		return w.completeIDs("key", "")
	case "from", "to", "from-time", "timestamp":
		return completeTimes(false)
	case "starts", "ends":
		return completeTimes(true)
	case "action", "who", "target":
		if command == "audit list" {
			return w.completeAudit(flag)
		}
		return w.completeActions
	case "file", "results", "against":
		return nil
	case "out":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	}
	return cobra.NoFileCompletions
}

// bashWords are the two functions that the script for bash takes from the package
// bash-completion, for machines that lack it: one splits the line into words of which = and : are
// parts, the other takes from replies what bash has already before the last colon.
const bashWords = `# Without the package bash-completion: what the script takes from it.
if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref() {
        local rest=$COMP_LINE word blank n=0
        words=()
        for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
            blank=${rest%%[![:space:]]*}
            rest=${rest#"$blank"}
            rest=${rest#"$word"}
            if [[ $n -gt 0 && -z $blank ]]; then
                words[n-1]+=$word
            else
                words[n++]=$word
            fi
        done
        cword=$((n - 1)) cur=${words[n-1]} prev=
        if [[ $n -gt 1 ]]; then prev=${words[n-2]}; fi
    }
fi
if ! declare -F __ltrim_colon_completions >/dev/null; then
    __ltrim_colon_completions() {
        local i prefix=${1%"${1##*:}"}
        if [[ $COMP_WORDBREAKS != *:* ]]; then return; fi
        for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$prefix"}; done
    }
fi
`

func newCompletionCmd(p *program) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print the completion script for bash, zsh, fish or powershell",
		Args: exactArgs("SHELL"), ValidArgs: shells,
		Example: trimExamples(`
  source <(sbctl completion bash)
  sbctl completion zsh > "${fpath[1]}/_sbctl"`),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				if _, err := io.WriteString(p.stdout, bashWords); err != nil {
					return err
				}
				return root.GenBashCompletionV2(p.stdout, true)
			case "zsh":
				return root.GenZshCompletion(p.stdout)
			case "fish":
				return root.GenFishCompletion(p.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(p.stdout)
			}
			return usagef("unknown shell %q; must be one of %s%s", args[0], strings.Join(shells, ", "),
				english.Closest(args[0], shells, ""))
		},
	}
}
