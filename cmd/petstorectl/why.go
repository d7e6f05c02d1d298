package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/keys"
	"petstore.example/internal/usage"
)

type whyOptions struct {
	*factory

	subject string
	limit   int
}

const (
	// fromStdin stands for the key that is on stdin.
	fromStdin = "-"
	whyLimit  = 10
)

func newCmdWhy(f *factory, runF func(context.Context, *whyOptions) error) *cobra.Command {
	if runF == nil {
		runF = runWhy
	}
	o := &whyOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "why KEY-ID|REQUEST-ID|-",
		Short: "Explain why a caller is refused",
		Long: `Explain what the platform decides about a caller and why: the state of its key,
its plan and limits, today's usage, its bans, its last refusals, and what to do.

The argument is the ID of a key, the X-Request-Id of a refused request, or - to
read the key from stdin. Refusals are kept for a day: the last 50 of each key,
and of many in a row only the first and the last.

Usage is as recorded, at most a second behind. The counters of the current
minute are in Redis or in the servers, not in the database.`,
		Example: `  petstorectl why key_9Xb2LmQ0tR7sVw1Z
  petstorectl why d4s6v8qk3m5t0b2n7c1g -o json | jq -r .verdict
  petstorectl why - < found-in-a-log.txt`,
		Args: exactArgs("KEY-ID, REQUEST-ID or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkKeyID(args[0]); err != nil {
				return err
			}
			o.subject = args[0]
			if err := checkLimit(o.limit); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.keyIDs),
	}
	addLimitFlag(cmd, &o.limit, whyLimit)
	return cmd
}

func runWhy(ctx context.Context, o *whyOptions) error {
	key, request, err := o.find(ctx)
	if err != nil {
		return err
	}
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	d, err := loadDiagnosis(ctx, db, key, o.limit, o.now())
	if err != nil {
		return err
	}
	d.request = request
	return printDiagnosis(o.factory, d)
}

// find returns the key that is asked about, and the refusal when that was.
func (o *whyOptions) find(ctx context.Context) (keys.Key, *usage.RefusalRecord, error) {
	switch {
	case o.subject == fromStdin:
		key, err := identify(ctx, o.factory)
		return key, nil, err
	case strings.HasPrefix(o.subject, "key_"):
		key, err := o.key(ctx, o.subject)
		return key, nil, err
	}
	db, err := o.database(ctx)
	if err != nil {
		return keys.Key{}, nil, err
	}
	refusals, err := db.Refusals.OfRequest(ctx, o.subject, 2)
	if err != nil {
		return keys.Key{}, nil, err
	}
	switch len(refusals) {
	case 0:
		return keys.Key{}, nil, &problem{
			code:    exitNotFound,
			message: "no refusal of a request " + o.subject + " is kept",
			hint: "refusals of known keys are kept for a day, of a flood only some; if it had a key, ask with its id:\n" +
				"petstorectl why KEY-ID",
		}
	case 2:
		o.streams.say("more than one request had that id: this is the latest")
	}
	key, err := o.key(ctx, refusals[0].KeyID)
	return key, &refusals[0], err
}

func (o *whyOptions) key(ctx context.Context, id string) (keys.Key, error) {
	db, err := o.database(ctx)
	if err != nil {
		return keys.Key{}, err
	}
	k, err := db.Keys.Get(ctx, id)
	return k, o.explain(ctx, err, about{key: id})
}
