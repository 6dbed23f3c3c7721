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

// completionTime bounds what the server is asked between two keys. A shell
// that gets no answer completes nothing.
const completionTime = 2 * time.Second

// completeFromServer has the shell complete boards, users and settings wherever a
// command takes one: flags of these names, and arguments that its Use calls so.
func (p *program) completeFromServer(cmd *cobra.Command) {
	complete := func(flag string, with cobra.CompletionFunc) {
		if cmd.LocalFlags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, with) // fails only for a flag that is not there, or twice
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
		case noun == "knobs" && cmd.Name() == "set":
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

// once completes the first argument alone.
func once(with cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return with(cmd, args, typed)
	}
}

// ask gets words from the server for a completion.
func (p *program) ask(cmd *cobra.Command, typed string, words func(context.Context, *client.Client) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	p.quiet = true // a shell shows what is said in the middle of the line
	c, err := p.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	found, err := words(ctx, c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return matching(found, typed), cobra.ShellCompDirectiveNoFileComp
}

func matching(words []string, typed string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, typed) })
}

func (p *program) completeBoards(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return p.ask(cmd, typed, func(ctx context.Context, c *client.Client) ([]string, error) {
		boards, err := allBoards(ctx, c, "")
		return boardNames(boards), err
	})
}

// completeUsers offers the first hundred of the board that the line names.
func (p *program) completeUsers(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	q := client.TopQuery{Limit: 100}
	if f := cmd.Flag("board"); f != nil && f.Value.Type() == "string" {
		q.Board = f.Value.String()
	}
	return p.ask(cmd, typed, func(ctx context.Context, c *client.Client) ([]string, error) {
		top, err := c.Top(ctx, q)
		var names []string
		for _, e := range top.Entries {
			names = append(names, e.UserID)
		}
		return names, err
	})
}

// completeSettings offers those that can be turned and are not yet on the line,
// where a name stands: in turns with values, or alone to be reset.
func (p *program) completeSettings(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if !cmd.Flags().Changed("reset") && len(args)%2 == 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.ask(cmd, typed, func(ctx context.Context, c *client.Client) ([]string, error) {
		knobs, err := c.Settings(ctx)
		var names []string
		for _, k := range knobs {
			if k.Live && !slices.Contains(args, k.Name) {
				names = append(names, k.Name)
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
		Use: "completion SHELL", Short: "Print the completion script of a shell: bash, zsh, fish or powershell",
		Args: takes("SHELL"), ValidArgs: shells,
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
			return usagef("there is no completion for %q%s", args[0], suggest.Closest(args[0], shells, ""))
		},
	}
}
