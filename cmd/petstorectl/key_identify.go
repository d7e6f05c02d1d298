package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/keys"
)

type keyIdentifyOptions struct {
	*factory
}

func newCmdKeyIdentify(f *factory, runF func(context.Context, *keyIdentifyOptions) error) *cobra.Command {
	if runF == nil {
		runF = runKeyIdentify
	}
	o := &keyIdentifyOptions{factory: f}
	return &cobra.Command{
		Use:   "identify",
		Short: "Look up a key that is read from stdin",
		Long: `Look up a key. It is read from stdin, so that it does not appear in the shell
history or the process list. On a terminal it is prompted for without echo.`,
		Example: `  petstorectl key identify < found-in-a-log.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				// The argument is not repeated: it is likely the key.
				return usageProblem("keys are read from stdin, never from the command line").withHint(
					"the key is now in your shell history: consider revoking it")
			}
			return nil
		},
		RunE:              func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
		ValidArgsFunction: completeArgs(),
	}
}

func runKeyIdentify(ctx context.Context, o *keyIdentifyOptions) error {
	k, err := identify(ctx, o.factory)
	if err != nil {
		return err
	}
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	return printKey(ctx, o.factory, db, k)
}

// identify returns the key that is on stdin.
func identify(ctx context.Context, f *factory) (keys.Key, error) {
	text, err := f.readKey(ctx)
	if err != nil {
		return keys.Key{}, err
	}
	service, err := f.keys(ctx)
	if err != nil {
		return keys.Key{}, err
	}
	k, err := service.Identify(ctx, strings.TrimSpace(text))
	if errors.Is(err, keys.ErrKeyNotFound) {
		return keys.Key{}, &problem{
			code: exitNotFound, message: "unknown key: it is well-formed, but was not issued here",
		}
	}
	return k, f.explain(ctx, err, about{})
}

func (f *factory) readKey(ctx context.Context) (text string, err error) {
	if f.streams.inTTY {
		_, _ = io.WriteString(f.streams.err, "Key: ")
		text, err = f.streams.silent(ctx)
		f.streams.say("")
	} else {
		text, err = f.streams.readLine(ctx)
	}
	if errors.Is(err, io.EOF) {
		return "", usageProblem("no key on stdin").withHint("redirect a file: petstorectl key identify < FILE")
	}
	return text, err
}
