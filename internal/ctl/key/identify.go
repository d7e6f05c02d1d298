package key

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/keys"
)

type identifyOptions struct {
	*cmdutil.Factory
}

func newCmdIdentify(f *cmdutil.Factory, runF func(context.Context, *identifyOptions) error) *cobra.Command {
	o := &identifyOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "identify",
		Short: "Look up a key that is read from stdin",
		Long: `Look up a key. It is read from stdin, so that it does not appear in the shell
history or the process list. On a terminal it is prompted for without echo.`,
		Example: `  petstorectl key identify < found-in-a-log.txt`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	cmdutil.SetArgs(cmd)
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			// The argument is not repeated: it is probably the key.
			return cmdutil.UsageErrorf("keys are read from stdin, never from the command line").WithHint(
				"the key is now in your shell history: consider revoking it")
		}
		return nil
	}
	f.ReadFlags(cmd)
	return cmd
}

func runIdentify(ctx context.Context, o *identifyOptions) error {
	k, err := Identify(ctx, o.Factory)
	if err != nil {
		return err
	}
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	return printDetails(ctx, o.Factory, db, k)
}

// Identify reads a key from stdin and looks it up.
func Identify(ctx context.Context, f *cmdutil.Factory) (keys.Key, error) {
	text, err := read(ctx, f)
	if err != nil {
		return keys.Key{}, err
	}
	service, err := f.Keys(ctx)
	if err != nil {
		return keys.Key{}, err
	}
	k, err := service.Identify(ctx, strings.TrimSpace(text))
	if errors.Is(err, keys.ErrKeyNotFound) {
		return keys.Key{}, &cmdutil.Error{
			Code: cmdutil.ExitNotFound, Message: "unknown key: it is well-formed, but was not issued here",
		}
	}
	return k, f.Explain(ctx, err, cmdutil.Subject{})
}

func read(ctx context.Context, f *cmdutil.Factory) (text string, err error) {
	if f.InTTY {
		_, _ = io.WriteString(f.ErrOut, "Key: ")
		text, err = f.ReadPassword(ctx)
		f.Messagef("")
	} else {
		text, err = f.ReadLine(ctx)
	}
	if errors.Is(err, io.EOF) {
		return "", cmdutil.UsageErrorf("no key on stdin").WithHint("redirect a file to the command: petstorectl … < FILE")
	}
	return text, err
}
