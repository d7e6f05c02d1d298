package main

import (
	"github.com/spf13/cobra"
)

type completionOptions struct {
	*factory

	root  *cobra.Command
	shell string
}

func newCmdCompletion(f *factory, runF func(*completionOptions) error) *cobra.Command {
	if runF == nil {
		runF = runCompletion
	}
	o := &completionOptions{factory: f}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Generate the shell completion script",
		Long: `Generate the shell completion script. It completes commands, flags and, from the
database, the names of tenants, plans and keys.

The bash script requires the package bash-completion: install it (apt install
bash-completion, brew install bash-completion@2) and start a new shell. Zsh
requires compinit.`,
		Example: `  source <(petstorectl completion bash)
  petstorectl completion zsh > "${fpath[1]}/_petstorectl"`,
		Args:      exactArgs("bash, zsh, fish or powershell"),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.root, o.shell = cmd.Root(), args[0]
			return runF(o)
		},
	}
}

func runCompletion(o *completionOptions) error {
	switch o.shell {
	case "bash":
		return o.root.GenBashCompletionV2(o.streams.out, true)
	case "zsh":
		return o.root.GenZshCompletion(o.streams.out)
	case "fish":
		return o.root.GenFishCompletion(o.streams.out, true)
	case "powershell":
		return o.root.GenPowerShellCompletionWithDesc(o.streams.out)
	}
	return usageProblem("no completion for shell %q", o.shell).withHint("want bash, zsh, fish or powershell")
}
