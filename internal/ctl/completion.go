package ctl

import (
	"io"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
)

// bashInit defines the functions of bash-completion that Cobra's script calls, for shells without
// that package. It finds the words up to the cursor, without breaking them at = and :.
const bashInit = `
__petstorectl_init_completion()
{
    local line=${COMP_LINE:0:COMP_POINT}
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    cword=$((${#words[@]} - 1))
    cur=${words[cword]}
}
`

func newCmdCompletion(f *cmdutil.Factory) *cobra.Command {
	var shell string
	cmd := &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Generate the shell completion script",
		Long: `Generate the shell completion script. It completes commands, flags and, from the
database, the names of tenants, plans and keys. Zsh requires compinit.`,
		Example: `  source <(petstorectl completion bash)
  petstorectl completion zsh > "${fpath[1]}/_petstorectl"`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch root := cmd.Root(); shell {
			case "bash":
				if err := root.GenBashCompletionV2(f.Out, true); err != nil {
					return err
				}
				_, err := io.WriteString(f.Out, bashInit)
				return err
			case "zsh":
				return root.GenZshCompletion(f.Out)
			case "fish":
				return root.GenFishCompletion(f.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(f.Out)
			}
			return cmdutil.UsageErrorf(
				"no completion for shell %q",
				shell,
			).WithHint("want bash, zsh, fish or powershell")
		},
	}
	cmdutil.SetArgs(cmd, cmdutil.Arg{Name: "bash, zsh, fish or powershell", Value: &shell})
	cmd.ValidArgs = []string{"bash", "zsh", "fish", "powershell"}
	cmd.ValidArgsFunction = nil
	return cmd
}
