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

func newCmdIdentify(f *cmdutil.Factory) *cobra.Command {
	cmd := f.ReadCommand(&cobra.Command{
		Use:   "identify",
		Short: "Look up a key that is read from stdin",
		Long: `Look up a key. It is read from stdin, so that it does not appear in the shell
history or the process list. On a terminal it is prompted for without echo.`,
		Example: `  petstorectl key identify < found-in-a-log.txt`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runIdentify(cmd.Context(), f) },
	})
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			// The argument is not repeated: it is probably the key.
			return cmdutil.UsageErrorf("keys are read from stdin, never from the command line").WithHint(
				"the key is now in your shell history: consider revoking it")
		}
		return nil
	}
	return cmd
}

func runIdentify(ctx context.Context, f *cmdutil.Factory) error {
	k, err := Identify(ctx, f)
	if err != nil {
		return err
	}
	return printDetails(ctx, f, k)
}

// Identify reads a key from stdin and looks it up.
func Identify(ctx context.Context, f *cmdutil.Factory) (keys.Key, error) {
	text, err := read(ctx, f)
	if err != nil {
		return keys.Key{}, err
	}
	db, err := f.DB(ctx)
	if err != nil {
		return keys.Key{}, err
	}
	k, err := f.Keys(db).Identify(ctx, strings.TrimSpace(text))
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
