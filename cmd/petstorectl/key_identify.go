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
	text, err := o.readKey(ctx)
	if err != nil {
		return err
	}
	service, err := o.keys(ctx)
	if err != nil {
		return err
	}
	k, err := service.Identify(ctx, strings.TrimSpace(text))
	if errors.Is(err, keys.ErrKeyNotFound) {
		return &problem{code: exitNotFound, message: "no such key was issued here: its form is right, its digest unknown"}
	}
	if err != nil {
		return o.explain(ctx, err, about{})
	}
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	return printKey(ctx, o.factory, db, k)
}

func (o *keyIdentifyOptions) readKey(ctx context.Context) (text string, err error) {
	if o.streams.inTTY {
		_, _ = io.WriteString(o.streams.err, "Key: ")
		text, err = o.streams.silent(ctx)
		o.streams.say("")
	} else {
		text, err = o.streams.readLine(ctx)
	}
	if errors.Is(err, io.EOF) {
		return "", usageProblem("no key on stdin").withHint("usage: petstorectl key identify < FILE")
	}
	return text, err
}
