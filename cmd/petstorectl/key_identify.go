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
		Short: "Whose key is this? Reads the key from stdin",
		Long: `Whose key is this? Reads the key from stdin, so that it is in no history and no
list of processes. A terminal asks for it and does not show it.`,
		Example: `  petstorectl key identify < found-in-a-log.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				// The argument is not repeated: it is likely the key.
				return usageProblem("a key is read from stdin, never from the command line").withHint(
					"that key is now in your shell's history: consider to revoke it")
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
			code: exitNotFound, message: "no such key was issued here: its form is right, its digest unknown",
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
		return "", usageProblem("no key on stdin").withHint("pipe it in: petstorectl … < FILE")
	}
	return text, err
}
