package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/suggest"
)

// completionTimeout limits a request made while a person types. Without a
// response in time, the shell completes nothing.
const completionTimeout = 2 * time.Second

// completeFromServer registers completions for boards, users, settings and
// profiles: for flags of these names, and for arguments that Use names so.
func (p *program) completeFromServer(cmd *cobra.Command) {
	complete := func(flag string, with cobra.CompletionFunc) {
		if cmd.LocalFlags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, with) // fails only for an unknown flag or a second call
		}
	}
	complete("board", p.completeBoards)
	complete("user", p.completeUsers)
	complete("profile", p.completeProfiles)
	complete("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	noun := ""
	if cmd.HasParent() {
		noun = cmd.Parent().Name()
	}
	if _, argument, _ := strings.Cut(cmd.Use, " "); cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
		switch {
		case argument == "USER":
			cmd.ValidArgsFunction = once(p.completeUsers)
		case argument == "BOARD", noun == "board" && argument == "NAME" && cmd.Name() != "create":
			cmd.ValidArgsFunction = once(p.completeBoards)
		case noun == "settings" && cmd.Name() == "set":
			cmd.ValidArgsFunction = p.completeSettings
		case noun == "profile" && argument == "NAME":
			cmd.ValidArgsFunction = once(p.completeProfiles)
		case argument == "" && !cmd.HasSubCommands():
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
	for _, sub := range cmd.Commands() {
		p.completeFromServer(sub)
	}
}

// once completes only the first argument.
func once(with cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return with(cmd, args, typed)
	}
}

// fetchWords gets the candidates of a completion from the server. Errors complete
// nothing.
func (p *program) fetchWords(
	cmd *cobra.Command, typed string, fetch func(context.Context, *client.Client) ([]string, error),
) ([]string, cobra.ShellCompDirective) {
	p.quiet = true // a shell would show messages in the middle of the line
	c, err := p.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	found, err := fetch(ctx, c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return matching(found, typed), cobra.ShellCompDirectiveNoFileComp
}

func matching(words []string, typed string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, typed) })
}

func (p *program) completeBoards(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return p.fetchWords(cmd, typed, func(ctx context.Context, c *client.Client) ([]string, error) {
		boards, err := allBoards(ctx, c, "")
		return boardNames(boards), err
	})
}

// completeUsers offers the top 100 of the board that the command line names.
func (p *program) completeUsers(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	q := client.TopQuery{Limit: 100}
	if f := cmd.Flag("board"); f != nil && f.Value.Type() == "string" {
		q.Board = f.Value.String()
	}
	return p.fetchWords(cmd, typed, func(ctx context.Context, c *client.Client) ([]string, error) {
		top, err := c.Top(ctx, q)
		var names []string
		for _, e := range top.Entries {
			names = append(names, e.UserID)
		}
		return names, err
	})
}

// completeSettings offers adjustable settings that are not on the command line
// yet. Names alternate with values, except with --reset.
func (p *program) completeSettings(
	cmd *cobra.Command,
	args []string,
	typed string,
) ([]string, cobra.ShellCompDirective) {
	if !cmd.Flags().Changed("reset") && len(args)%2 == 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.fetchWords(cmd, typed, func(ctx context.Context, c *client.Client) ([]string, error) {
		all, err := c.Settings(ctx)
		var names []string
		for _, s := range all {
			if s.Live && !slices.Contains(args, s.Name) {
				names = append(names, s.Name)
			}
		}
		return names, err
	})
}

func (p *program) completeProfiles(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	c, err := p.readConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return matching(slices.Sorted(maps.Keys(c.Profiles)), typed), cobra.ShellCompDirectiveNoFileComp
}

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
				return root.GenBashCompletionV2(p.stdout, true)
			case "zsh":
				return root.GenZshCompletion(p.stdout)
			case "fish":
				return root.GenFishCompletion(p.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(p.stdout)
			}
			return usagef("unknown shell %q; must be one of %s%s", args[0], strings.Join(shells, ", "),
				suggest.Closest(args[0], shells, ""))
		},
	}
}
