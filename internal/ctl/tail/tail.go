// Package tail holds the command that follows the requests of a tenant while they come.
package tail

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/key"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

type options struct {
	*cmdutil.Factory

	subject string
	failed  bool
	length  time.Duration
}

// NewCmd returns the command tail.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := &cobra.Command{
		Use:   "tail TENANT|KEY-ID",
		Short: "Follow the requests of a tenant or a key",
		Long: `Follow the requests of a tenant or a key until ^C, or for as long as --for says.

Each failed request, with a status of 400 or more, is a line when a server
stores it: within a second, in a flood within five. Of many in a row only the
first and the last are stored, and the last says how many more there were.
Without --failed there are also lines with the numbers of requests that were
admitted and refused, by key, as servers record them twice a second.

In JSON each line is an object (-o jsonl).`,
		Example: `  petstorectl tail acme --failed
  petstorectl tail acme --for 1m
  petstorectl tail key_9Xb2LmQ0tR7sVw1Z -o jsonl --jq .code`,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	f.OutputFlag(cmd)
	cmdutil.DatabaseCommand(f, cmd, cmdutil.Arg{
		Name: "TENANT or KEY-ID", Value: &o.subject, Complete: cmdutil.TenantNames(f), Check: cmdutil.CheckKeyID,
	})
	cmd.Flags().BoolVar(&o.failed, "failed", false, "only failed requests")
	cmdutil.ParsedFlag(cmd, &o.length, "for", "", "end after `LENGTH`, such as 1m", cmdutil.ParseDuration, "1m", "10m", "1h")
	return cmd
}

func run(ctx context.Context, o *options) error {
	p, err := o.printer()
	if err != nil {
		return err
	}
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	f, err := o.follower(ctx, db)
	if err != nil {
		return err
	}
	w, err := newWriter(p, f.label)
	if err != nil {
		return err
	}
	// What is there already is not new.
	if _, err := f.poll(ctx); err != nil {
		return err
	}
	o.Messagef("following %s: ^C ends it", f.what)
	return f.run(ctx, o.length, w)
}

// printer returns where lines are printed.
func (o *options) printer() (output.Printer, error) {
	p := o.Printer()
	switch {
	case o.Output == "" && p.Format == "json":
		// A filter is applied to each line.
		p.Format = "jsonl"
	case p.Format == "json":
		return p, cmdutil.UsageErrorf("tail can't print json, which has an end").WithHint("print an object in each line: -o jsonl")
	}
	return p, nil
}

// follower returns what follows the tenant or the key.
func (o *options) follower(ctx context.Context, db *store.DB) (*follower, error) {
	f := &follower{db: db, now: o.Now, say: o.Messagef, counts: !o.failed, seen: map[failedID]time.Time{}, labels: map[string]string{}}
	if strings.HasPrefix(o.subject, "key_") {
		k, err := db.Keys.Get(ctx, o.subject)
		if err != nil {
			return nil, o.Explain(ctx, err, cmdutil.Subject{Key: o.subject})
		}
		f.tenantID, f.tenant, f.keyID, f.what = k.TenantID, k.TenantName, k.ID, "key "+k.ID+" of tenant "+k.TenantName
		f.labels[k.ID] = key.Label(k)
		return f, nil
	}
	t, err := db.Tenants.Get(ctx, o.subject)
	if err != nil {
		return nil, o.Explain(ctx, err, cmdutil.Subject{Tenant: o.subject})
	}
	f.tenantID, f.tenant, f.what = t.ID, t.Name, "tenant "+t.Name
	return f, nil
}
