package ctl

import (
	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
)

func newCmdCompletion(f *cmdutil.Factory) *cobra.Command {
	var shell string
	cmd := &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Generate the shell completion script",
		Long: `Generate the shell completion script. It completes commands, flags and, from the
database, the names of tenants, plans and keys.

The bash script requires the package bash-completion: install it (apt install
bash-completion, brew install bash-completion@2) and start a new shell. Zsh
requires compinit.`,
		Example: `  source <(petstorectl completion bash)
  petstorectl completion zsh > "${fpath[1]}/_petstorectl"`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch root := cmd.Root(); shell {
			case "bash":
				return root.GenBashCompletionV2(f.Out, true)
			case "zsh":
				return root.GenZshCompletion(f.Out)
			case "fish":
				return root.GenFishCompletion(f.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(f.Out)
			}
			return cmdutil.UsageErrorf("no completion for shell %q", shell).WithHint("want bash, zsh, fish or powershell")
		},
	}
	cmdutil.SetArgs(cmd, cmdutil.Arg{Name: "bash, zsh, fish or powershell", Value: &shell})
	cmd.ValidArgs = []string{"bash", "zsh", "fish", "powershell"}
	cmd.ValidArgsFunction = nil
	return cmd
}
