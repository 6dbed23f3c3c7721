package main

import (
	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/internal/suggest"
)

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
