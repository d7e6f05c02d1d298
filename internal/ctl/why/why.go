// Package why holds the command that explains what the platform decides about a caller.
package why

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/key"
	"petstore.example/internal/keys"
	"petstore.example/internal/usage"
)

type options struct {
	*cmdutil.Factory

	subject string
	limit   int
}

const (
	// fromStdin as the subject stands for the key on stdin.
	fromStdin    = "-"
	defaultLimit = 10
)

// NewCmd returns the command why.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := f.ReadCommand(&cobra.Command{
		Use:   "why KEY-ID|REQUEST-ID|-",
		Short: "Explain why a caller is refused",
		Long: `Explain what the platform decides about a caller and why: the state of its key,
its plan and limits, today's usage, its bans, its last refusals, and what to do.

The argument is the ID of a key, the X-Request-Id of a refused request, or - to
read the key from stdin. The last 50 refusals of each key are stored for a day.
Of many in a row only the first and the last are stored.

The usage is the recorded one, at most a second behind. The counters of the
current minute are in Redis or in the servers, not in the database.`,
		Example: `  petstorectl why key_9Xb2LmQ0tR7sVw1Z
  petstorectl why d4s6v8qk3m5t0b2n7c1g -o json | jq -r .verdict
  petstorectl why - < found-in-a-log.txt`,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}, cmdutil.Arg{Name: "KEY-ID, REQUEST-ID or -", Value: &o.subject, Complete: cmdutil.KeyIDs(f), Check: cmdutil.CheckKeyID})
	cmdutil.LimitFlag(cmd, &o.limit, defaultLimit)
	return cmd
}

func run(ctx context.Context, o *options) error {
	k, request, err := o.find(ctx)
	if err != nil {
		return err
	}
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	d, err := load(ctx, db, k, o.limit, o.Now())
	if err != nil {
		return err
	}
	d.request = request
	return printDiagnosis(o.Factory, d)
}

// find returns the key, and the refusal if the subject is a request.
func (o *options) find(ctx context.Context) (keys.Key, *usage.RefusalRecord, error) {
	switch {
	case o.subject == fromStdin:
		k, err := key.Identify(ctx, o.Factory)
		return k, nil, err
	case strings.HasPrefix(o.subject, "key_"):
		k, err := o.key(ctx, o.subject)
		return k, nil, err
	}
	db, err := o.DB(ctx)
	if err != nil {
		return keys.Key{}, nil, err
	}
	refusals, err := db.Refusals.OfRequest(ctx, o.subject, 2)
	if err != nil {
		return keys.Key{}, nil, err
	}
	switch len(refusals) {
	case 0:
		return keys.Key{}, nil, &cmdutil.Error{
			Code:    cmdutil.ExitNotFound,
			Message: "no refusal of request " + o.subject + " is stored",
			Hint: "refusals of known keys are stored for a day, and of many in a row only some;\n" +
				"if the request had a key, use the ID of the key: petstorectl why KEY-ID",
		}
	case 2:
		o.Messagef("several requests had this ID: showing the latest")
	}
	k, err := o.key(ctx, refusals[0].KeyID)
	return k, &refusals[0], err
}

func (o *options) key(ctx context.Context, id string) (keys.Key, error) {
	db, err := o.DB(ctx)
	if err != nil {
		return keys.Key{}, err
	}
	k, err := db.Keys.Get(ctx, id)
	return k, o.Explain(ctx, err, cmdutil.Subject{Key: id})
}
