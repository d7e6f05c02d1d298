package key

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
)

func newCmdIdentify(f *cmdutil.Factory) *cobra.Command {
	cmd := cmdutil.OutputCommand(f, &cobra.Command{
		Use:   "identify",
		Short: "Find out whose key this is, read from stdin",
		Long: `Find out whose key this is. It is read from stdin, so that it does not appear in
the shell history or the process list. On a terminal it is prompted for without
echo. It may stand in a text of up to 64 kB, such as the line of a log or JSON,
without any other key.`,
		Example: `  petstorectl key identify < found-in-a-log.txt`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k, err := Identify(cmd.Context(), f)
			if err != nil {
				return err
			}
			return output.Item(f.Printer(), View(f.Now()), k)
		},
	})
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			// The argument is not repeated: it is probably the key.
			return cmdutil.UsageErrorf("keys are read from stdin, never from the command line").WithHint(
				"the key is now in your shell history: consider revoking it")
		}
		return nil
	}
	return cmdutil.SetColumns(cmd, View(f.Now()).Names())
}

// Identify reads a text with a key in it from stdin, and looks the key up.
func Identify(ctx context.Context, f *cmdutil.Factory) (keys.Key, error) {
	token, err := read(ctx, f)
	if err != nil {
		return keys.Key{}, err
	}
	db, err := f.DB(ctx)
	if err != nil {
		return keys.Key{}, err
	}
	k, err := f.Keys(db).Identify(ctx, token.Reveal())
	if errors.Is(err, keys.ErrKeyNotFound) {
		return keys.Key{}, &cmdutil.Error{
			Code: cmdutil.ExitNotFound, Message: "unknown key: it is well-formed, but was not issued here",
		}
	}
	return k, f.Explain(ctx, err, cmdutil.Subject{})
}

const (
	// maxText bounds what is read from stdin to find a key in it.
	maxText = 64 << 10
	// maxEnds is how many keys an error names by their last four characters.
	maxEnds = 5
)

func read(ctx context.Context, f *cmdutil.Factory) (token keys.Token, err error) {
	var text string
	if f.InTTY {
		_, _ = io.WriteString(f.ErrOut, "Key: ")
		text, err = f.ReadPassword(ctx)
		f.Messagef("")
	} else {
		text, err = f.ReadText(ctx, maxText)
	}
	if errors.Is(err, io.EOF) || err == nil && strings.TrimSpace(text) == "" {
		return token, cmdutil.UsageErrorf("no key on stdin").WithHint("redirect a file to the command: petstorectl … < FILE")
	}
	if err != nil {
		return token, err
	}
	return only(keys.FindTokens(text), len(text) == maxText)
}

// only returns the one key of those that were found. No error repeats the text: it may hold the greater part of a key.
func only(found []keys.Token, cut bool) (keys.Token, error) {
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		hint := "a key has 45 characters and begins with pst_live_ or pst_test_: was it copied completely?"
		if cut {
			hint = "only the first 64 kB were read: give the lines with the key in them"
		}
		return keys.Token{}, cmdutil.UsageErrorf("stdin holds no API key").WithHint(hint)
	}
	ends := make([]string, 0, maxEnds+1)
	for _, token := range found[:min(maxEnds, len(found))] {
		ends = append(ends, "…"+token.Last4())
	}
	if len(found) > maxEnds {
		ends = append(ends, "…")
	}
	return keys.Token{}, cmdutil.UsageErrorf("stdin holds %d different API keys: %s", len(found), strings.Join(ends, ", ")).
		WithHint("give only the lines with one of them; or: petstorectl key list --last4 " + found[0].Last4())
}
